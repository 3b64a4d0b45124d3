#include <algorithm>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/resume.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"

// copytruncate: which file is a copy of which, and who may be read meanwhile.
namespace logarithm::agent {
namespace {

constexpr std::size_t kMostCandidates = 32;
constexpr std::size_t kMostCopies = 64;

}  // namespace

// Followed files of which `tail` may be a copy, by their names.
std::vector<Follower::Tail*> Follower::originals_of(const Tail& tail) {
  std::vector<Tail*> out;
  for (auto& [base, other] : tails_) {
    if (other.get() == &tail || other->imported || other->state == Tail::State::copy) continue;
    const bool related = std::any_of(tail.paths.begin(), tail.paths.end(), [&](const auto& path) {
      return std::any_of(
          other->paths.begin(), other->paths.end(),
          [&](const std::string& original) { return is_rotation_path(path, original); });
    });
    if (related) out.push_back(other.get());
  }
  return out;
}

// A new file that is named like a rotated original and begins like it is not read before it is
// decided: when the original shrinks, its end decides (see EndingStream); when nothing happens for
// a while, it is a stream of its own.
Follower::CopyState Follower::copy_state(BlockingToken& token, Tail& tail) {
  const std::vector<Tail*> originals = originals_of(tail);
  if (originals.empty()) return CopyState::no;
  // Every original is looked at once more before anything is said: it may have been cut, written
  // and copied since its last look.
  if (tail.found_turn == 0) tail.found_turn = turn_;
  bool looked = turn_ > tail.found_turn;
  for (Tail* original : originals) {
    if (original->state != Tail::State::live || !original->file.is_open()) continue;
    if (original->read_turn >= tail.found_turn) continue;
    original->changed = true;
    looked = false;
  }
  if (!looked) return CopyState::wait;
  for (Tail* original : originals) {
    for (const auto& ending : endings_) {
      if (ending->stream().base == original->base) return CopyState::wait;
    }
    if (original->state == Tail::State::asking) return CopyState::wait;
    if (original->state == Tail::State::fresh && original->file.is_open() &&
        original->file.look(token, 0, now_, wall_) != FileChange::none) {
      return CopyState::wait;
    }
    const bool undecided = original->file.facts().size > 0 ||
                           (!original->starts_next && newest_known(original->base) != nullptr);
    if (original->state == Tail::State::fresh && undecided) return CopyState::wait;
    if (copy_of_ended(token, tail, original->base)) return CopyState::wait;
    if (original->state != Tail::State::live) continue;
    const StreamWriter& writer = *original->writer;
    const StreamId stream = writer.stream();
    if (tail.original && tail.original->base == stream.base && *tail.original != stream) {
      continue;  // the original was cut, and this was not its copy
    }
    const std::uint64_t size = tail.file.facts().size;
    const std::uint64_t common = std::min<std::uint64_t>(writer.head().size(), size);
    Result<std::string> head = read_range(token, tail.file.file(), 0, common);
    if (!head.ok()) return CopyState::wait;
    // The original's first bytes may still be unread, and then nothing is known yet.
    if (!fits_head(*head, writer.head())) continue;
    if (tail.original != stream || tail.copy_size != size) {
      tail.original = stream;
      tail.copy_size = size;
      tail.copy_since = now_;
    }
    if (now_ - tail.copy_since < options_.copy_wait) return CopyState::wait;
  }
  return CopyState::no;
}

// A generation that ended before the copy was found (the agent was not there): if this file holds
// it, its end is told again, with the rest of the bytes.
bool Follower::copy_of_ended(BlockingToken& token, Tail& tail, const StreamBase& original) {
  const auto known = known_.find(original);
  if (tail.compared || known == known_.end()) return false;
  tail.compared = true;
  for (const auto& [generation, checkpoint] : known->second) {
    if (checkpoint.position == 0 || checkpoint.close_reason == "copytruncate") continue;
    Result<std::unique_ptr<StreamWriter>> writer =
        resume_writer_blind(parts_, checkpoint, StreamContext());
    Result<std::unique_ptr<SourceFile>> file = fs_.open(token, tail.file.open_path());
    if (!writer.ok() || !file.ok()) continue;
    CopyCheck check(tail.file.open_path(), tail.base, std::move(*file), tail.file.facts(),
                    checkpoint.head, (*writer)->digest(), (*writer)->ladder());
    CopyCheck::Verdict verdict = CopyCheck::Verdict::undecided;
    while (verdict == CopyCheck::Verdict::undecided) {
      verdict = check.step(token, options_.read_bytes, buffer_);
    }
    if (verdict != CopyCheck::Verdict::copy) continue;
    end_unwatched(token, checkpoint, "truncated", nullptr);
    return true;
  }
  return false;
}

std::vector<CopyCheck> Follower::copy_candidates(BlockingToken& token, const StreamWriter& writer,
                                                 const std::set<std::string>& paths) {
  std::vector<CopyCheck> out;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    const std::string directory = directory_of(path);
    Result<Names> names = fs_.list(token, directory);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string candidate = directory + "/" + name;
      if (!is_rotation_of(name, name_of(path)) || !seen.insert(candidate).second) continue;
      Result<std::unique_ptr<SourceFile>> file = fs_.open(token, candidate);
      if (!file.ok()) continue;
      Result<FileFacts> facts = (*file)->facts(token);
      Result<FileSystemId> system = (*file)->file_system(token);
      if (!facts.ok() || !system.ok()) continue;
      const StreamBase base = live_base(options_.tenant, writer.attributes().host, *system, *facts);
      if (base == writer.stream().base || copies_.contains(base)) continue;
      const auto tail = tails_.find(base);
      const bool own_stream =
          known_.contains(base) ||
          (tail != tails_.end() && (tail->second->state == Tail::State::live ||
                                    tail->second->state == Tail::State::closed));
      if (own_stream) continue;
      out.emplace_back(candidate, base, std::move(*file), *facts, writer.head(), writer.digest(),
                       writer.ladder());
    }
  }
  std::sort(out.begin(), out.end(), [](const CopyCheck& a, const CopyCheck& b) {
    return a.facts().modified > b.facts().modified;
  });
  if (out.size() > kMostCandidates) out.erase(out.begin() + kMostCandidates, out.end());
  return out;
}

// From now on this file is never read for itself.
void Follower::take_copy(const StreamBase& copy) {
  copies_.insert(copy);
  const auto tail = tails_.find(copy);
  if (tail == tails_.end()) return;
  tail->second->state = Tail::State::copy;
  tail->second->original.reset();
  tail->second->file.close();
}

// Our state is lost and the aggregator holds nothing of this file: it may still be the copy of a
// generation that it does hold.
Follower::StoredCopy Follower::stored_copy(BlockingToken& token, Tail& tail) {
  for (Tail* original : originals_of(tail)) {
    const std::string job = wanted_attributes(*original).job;
    if (!std::exchange(original->asked, true)) oracle_.ask(original->base, job);
    const std::optional<wire::StreamState> state = oracle_.answer(original->base, job);
    if (!state) return StoredCopy::wait;
    for (const StoredGeneration& generation : state->generations) {
      if (generation.ranges.empty() || generation.ranges.front().first != 0) continue;
      if (original->state == Tail::State::live &&
          original->writer->stream().generation == generation.generation) {
        continue;
      }
      const std::uint64_t end = generation.ranges.back().end;
      Result<bool> good = fits(token, tail.file.file(), tail.file.facts().size, generation.head,
                               end, generation.tail_crc);
      if (!good.ok()) return StoredCopy::wait;
      if (!*good) continue;
      LGR_INFO("stored copy of stream={}",
               to_text(StreamId{original->base, generation.generation}));
      if (!generation.closed && tail.file.facts().size > end) {
        StreamCheckpoint rest;
        rest.stream = {original->base, generation.generation};
        rest.attributes = wanted_attributes(*original);
        rest.attributes.version = generation.last_version + 1;
        rest.attributes.from = rest.position = generation.ranges.front().end;
        rest.head = generation.head;
        const StreamContext context = context_of(*original, rest.attributes);
        Result<std::unique_ptr<StreamWriter>> writer =
            resume_writer(token, parts_, tail.file.file(), std::move(rest), context, wall_);
        Result<std::unique_ptr<SourceFile>> file = fs_.open(token, tail.file.open_path());
        if (!writer.ok() || !file.ok()) return StoredCopy::wait;
        std::vector<CopyCheck> only;
        only.emplace_back(tail.file.open_path(), tail.base, std::move(*file), tail.file.facts(),
                          (*writer)->head(), (*writer)->digest(), (*writer)->ladder());
        EndingFacts facts;
        facts.reason = "truncated";
        facts.seen = facts.noticed = wall_;
        add_ending(std::move(*writer), context, std::move(facts), std::move(only));
      }
      original->copies.push_back(tail.base);
      if (original->copies.size() > kMostCopies) original->copies.erase(original->copies.begin());
      if (original->writer) original->writer->source().copies = original->copies;
      take_copy(tail.base);
      return StoredCopy::taken;
    }
  }
  return StoredCopy::no;
}

}  // namespace logarithm::agent
