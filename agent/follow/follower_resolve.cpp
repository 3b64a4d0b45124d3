#include <algorithm>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/resume.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"
#include "common/io/crc32c.h"

// Where to go on with a file: our own checkpoints, the aggregator's ranges, or a new generation.
namespace logarithm::agent {

void Follower::remember(const StreamCheckpoint& checkpoint) {
  for (const StreamBase& copy : parse_source_state(checkpoint.source).copies) copies_.insert(copy);
  known_[checkpoint.stream.base][checkpoint.stream.generation] = checkpoint;
}

const StreamCheckpoint* Follower::newest_known(const StreamBase& base) const {
  const auto found = known_.find(base);
  return found == known_.end() ? nullptr : &found->second.rbegin()->second;
}

// Files that were born before our state directory may have been sent by an earlier life of this
// agent; the aggregator knows. What is imported may have been imported before.
bool Follower::must_ask(const Tail& tail) const {
  const UnixNanos birth = tail.file.facts().birth;
  return tail.imported || birth == 0 || birth < log_.created_at();
}

Status Follower::resolve(BlockingToken& token, Tail& tail) {
  if (copies_.contains(tail.base)) {
    tail.state = Tail::State::copy;
    tail.file.close();
    return {};
  }
  if (!tail.file.is_open()) return {};
  if (tail.file.look(token, 0, now_, wall_) != FileChange::none) return {};
  if (tail.starts_next) {
    return tail.file.facts().size == 0 ? Status() : start_generation(token, tail);
  }
  if (newest_known(tail.base) != nullptr) return resume_known(token, tail);
  if (tail.file.facts().size == 0) return {};  // no stream before the first byte
  if (wanted_attributes(tail).job.empty())
    return {};  // found by itself, and nothing known after all
  if (!tail.no_copy && !tail.imported) {
    if (copy_state(token, tail) == CopyState::wait) return {};
    tail.no_copy = true;
    tail.original.reset();
  }
  if (!must_ask(tail)) return start_generation(token, tail);
  const std::string job = wanted_attributes(tail).job;
  if (!std::exchange(tail.asked, true)) oracle_.ask(tail.base, job);
  tail.state = Tail::State::asking;
  const std::optional<wire::StreamState> state = oracle_.answer(tail.base, job);
  if (!state || state->leased_elsewhere) return {};
  return resume_stored(token, tail, *state);
}

Status Follower::start_generation(BlockingToken& token, Tail& tail) {
  StreamCheckpoint checkpoint;
  checkpoint.stream = {tail.base, tail.generation};
  checkpoint.predecessor = tail.predecessor;
  checkpoint.attributes = wanted_attributes(tail);
  const StreamContext context = context_of(tail, checkpoint.attributes);
  LGR_TRY(tail.writer, StreamWriter::start(parts_, std::move(checkpoint), PrefixDigest(), context));
  tail.writer->source().copies = tail.copies;
  tail.file.begin_generation(now_);
  tail.starts_next = false;
  tail.state = Tail::State::live;
  tail.changed = true;
  if (!tail.copies.empty()) start_counting(token, tail);
  return {};
}

Status Follower::resume_known(BlockingToken& token, Tail& tail) {
  std::map<std::uint32_t, StreamCheckpoint>& generations = known_[tail.base];
  const FileFacts facts = tail.file.facts();
  const StreamCheckpoint* chosen = nullptr;
  for (auto it = generations.rbegin(); it != generations.rend(); ++it) {
    const StreamCheckpoint& checkpoint = it->second;
    Result<bool> good = fits(token, tail.file.file(), facts.size, checkpoint.head,
                             checkpoint.position, checkpoint.tail_crc);
    if (!good.ok()) return {};  // unreadable for now
    const bool has_bytes = checkpoint.position > 0 || it == generations.rbegin();
    if (*good && has_bytes && chosen == nullptr) {
      chosen = &checkpoint;
    } else if (!checkpoint.closed) {
      end_unwatched(token, checkpoint, "truncated", &facts);
    }
  }
  const StreamCheckpoint& newest = generations.rbegin()->second;
  if (tail.targets.empty()) {
    tail.last_attributes = newest.attributes;
    tail.last_attributes.version = 0;
    tail.last_attributes.from = 0;
  }
  tail.copies = parse_source_state(newest.source).copies;
  // Earlier names first: a copy is named after the one that the file had when it was copied.
  Names paths = newest.attributes.paths;
  for (const std::string& path : tail.paths) {
    std::erase(paths, path);
    paths.push_back(path);
  }
  tail.paths = std::move(paths);
  if (chosen == nullptr) {
    tail.generation = newest.stream.generation + 1;
    tail.predecessor = newest.stream.generation;
    tail.starts_next = true;
    return facts.size == 0 ? Status() : start_generation(token, tail);
  }
  if (chosen->closed && chosen->position == facts.size) {
    tail.state = Tail::State::closed;
    tail.closed_at_size = facts.size;
    return {};
  }
  const StreamContext context = context_of(tail, chosen->attributes);
  const UnixNanos observed = tail.imported ? facts.modified : wall_;
  Result<std::unique_ptr<StreamWriter>> writer =
      resume_writer(token, parts_, tail.file.file(), *chosen, context, observed);
  if (!writer.ok()) {
    LGR_WARN("cannot resume stream={}: {}", to_text(chosen->stream), writer.error().message());
    return {};
  }
  tail.writer = std::move(*writer);
  tail.state = Tail::State::live;
  tail.at_end = chosen->closed;  // whatever there is more was written later
  tail.changed = true;
  generations.erase(chosen->stream.generation);
  if (generations.empty()) known_.erase(tail.base);
  if (!tail.copies.empty()) start_counting(token, tail);
  return {};
}

Status Follower::resume_stored(BlockingToken& token, Tail& tail, const wire::StreamState& state) {
  if (state.generations.empty()) {
    const StoredCopy stored = tail.imported ? StoredCopy::no : stored_copy(token, tail);
    if (stored != StoredCopy::no) return {};
    return start_generation(token, tail);
  }
  Result<std::optional<StoredChoice>> choice =
      choose_stored(token, tail.file.file(), tail.file.facts().size, state.generations);
  if (!choice.ok()) return {};
  if (!choice->has_value()) {
    std::uint32_t newest = 0;
    for (const StoredGeneration& one : state.generations) newest = std::max(newest, one.generation);
    tail.generation = newest + 1;
    tail.predecessor = newest;
    return start_generation(token, tail);
  }
  const StoredChoice& stored = **choice;
  StreamCheckpoint checkpoint;
  checkpoint.stream = {tail.base, stored.generation.generation};
  checkpoint.attributes = wanted_attributes(tail);
  // The stored versions are not told, so this part gets one of its own.
  checkpoint.attributes.version = stored.generation.last_version + 1;
  checkpoint.attributes.from = stored.position;
  checkpoint.position = stored.position;
  // A secret may go on behind the head.
  Result<std::string> head = read_range(token, tail.file.file(), 0,
                                        std::min<std::uint64_t>(stored.position, 4 * kHeadBytes));
  if (!head.ok()) return {};
  checkpoint.head = masked_head(*parts_.rules, std::move(*head));
  Result<std::string> tail_bytes = read_range(
      token, tail.file.file(),
      stored.position - std::min<std::uint64_t>(stored.position, kTailBytes), stored.position);
  if (!tail_bytes.ok()) return {};
  checkpoint.tail_crc = crc32c(*tail_bytes);
  if (stored.generation.closed && stored.position == tail.file.facts().size) {
    checkpoint.closed = true;
    remember(checkpoint);
    tail.state = Tail::State::closed;
    tail.closed_at_size = stored.position;
    return {};
  }
  const StreamContext context = context_of(tail, checkpoint.attributes);
  const UnixNanos observed = tail.imported ? tail.file.facts().modified : wall_;
  Result<std::unique_ptr<StreamWriter>> writer =
      resume_writer(token, parts_, tail.file.file(), std::move(checkpoint), context, observed);
  if (!writer.ok()) return {};
  tail.writer = std::move(*writer);
  tail.state = Tail::State::live;
  tail.changed = true;
  return {};
}

// The generation that was read is not what the file holds any more.
void Follower::end_generation(BlockingToken& token, Tail& tail) {
  std::unique_ptr<StreamWriter> writer = std::move(tail.writer);
  EndingFacts ending;
  ending.reason = "truncated";
  ending.lost_lines = lost_lines(token, tail);
  const FileFacts& facts = tail.file.facts();
  const std::uint64_t common = std::min<std::uint64_t>(facts.size, writer->head().size());
  Result<std::string> head = read_range(token, tail.file.file(), 0, common);
  const std::uint64_t start = data_start(token, tail.file.file(), facts.size).value_or(0);
  const bool same = head.ok() && (start > 0 || fits_head(*head, writer->head()));
  if (!same) ending.reason = "replaced";
  ++(ending.reason == "truncated" ? stats_.truncated : stats_.replaced);
  ending.known_size = tail.file.known_size();
  ending.seen = tail.file.seen_wall();
  ending.noticed = wall_;
  const bool quiet = tail.file.seen_at() - tail.file.grown_at() > std::chrono::seconds(1);
  ending.rate = quiet ? 0 : tail.file.rate(tail.file.seen_at());
  ending.new_size = facts.size;
  ending.new_modified = facts.modified;
  LGR_INFO("{} stream={} read={} known={} now={}", ending.reason, to_text(writer->stream()),
           writer->next_read(), ending.known_size, facts.size);
  tail.generation = writer->stream().generation + 1;
  tail.predecessor = writer->stream().generation;
  tail.state = Tail::State::fresh;
  tail.no_copy = tail.starts_next = true;
  tail.file.begin_generation(now_);
  const std::set<std::string> paths(tail.paths.begin(), tail.paths.end());
  std::vector<CopyCheck> candidates;
  if (!tail.imported) candidates = copy_candidates(token, *writer, paths);
  const StreamContext context = context_of(tail, writer->attributes());
  add_ending(std::move(writer), context, std::move(ending), std::move(candidates));
  if (start > 0) endings_.back()->data_began(start);
  if (options_.once || tail.imported) endings_.back()->give_up_waiting();
}

void Follower::add_ending(std::unique_ptr<StreamWriter> writer, StreamContext context,
                          EndingFacts facts, std::vector<CopyCheck> candidates) {
  endings_.push_back(std::make_unique<EndingStream>(parts_, std::move(writer), std::move(context),
                                                    std::move(facts), std::move(candidates)));
}

// The same for a generation of which only the checkpoint is left: it ended while we were away.
void Follower::end_unwatched(BlockingToken& token, const StreamCheckpoint& checkpoint,
                             const std::string& reason, const FileFacts* now_there) {
  for (const auto& ending : endings_) {
    if (ending->stream() == checkpoint.stream) return;
  }
  StreamContext context;
  context.process_rank = checkpoint.attributes.rank;
  const SourceState source = parse_source_state(checkpoint.source);
  context.imported = source.imported;
  Result<std::unique_ptr<StreamWriter>> writer = resume_writer_blind(parts_, checkpoint, context);
  if (!writer.ok()) {
    LGR_ERROR("cannot end stream={}: {}", to_text(checkpoint.stream), writer.error().message());
    return;
  }
  EndingFacts facts;
  facts.reason = reason;
  facts.known_size = source.size;
  facts.seen = source.seen;
  facts.noticed = wall_;
  facts.watched = false;
  facts.rate = static_cast<double>(source.rate);
  if (now_there != nullptr) {
    facts.new_size = now_there->size;
    facts.new_modified = now_there->modified;
  }
  ++(reason == "deleted" ? stats_.deleted : stats_.truncated);
  std::set<std::string> paths(checkpoint.attributes.paths.begin(),
                              checkpoint.attributes.paths.end());
  paths.insert(source.path);
  std::vector<CopyCheck> candidates = copy_candidates(token, **writer, paths);
  add_ending(std::move(*writer), context, std::move(facts), std::move(candidates));
}

}  // namespace logarithm::agent
