#include <algorithm>
#include <utility>

#include "agent/follow/tail.h"
#include "common/base/logging.h"

// What follows from quiet: unfinished lines, the end of streams, bounds.
namespace logarithm::agent {

// A file that is still undecided keeps its descriptor for long: it is the only buffer of its bytes.
bool Follower::may_drop(const Tail& tail) const {
  if (tail.state == Tail::State::closed) return true;
  const auto unnamed = tail.unnamed_since ? now_ - *tail.unnamed_since : MonotonicTime::duration(0);
  const bool undecided = tail.state == Tail::State::asking || tail.original.has_value();
  return undecided ? unnamed >= options_.deleted_age : unnamed >= options_.rotate_wait;
}

// What follows from quiet: names, attribute versions, the unfinished last line, the end.
Status Follower::settle(BlockingToken& token, Tail& tail) {
  if (tail.state != Tail::State::live) return {};
  if (tail.file.is_open()) {
    if (tail.file.facts().links == 0) {
      if (!tail.deleted_since) tail.deleted_since = now_;
    } else {
      tail.deleted_since.reset();
    }
  }
  if (std::exchange(tail.moved, false)) note_path(token, tail);
  if (tail.facts_changed) LGR_CHECK(update_attributes(token, tail));
  if (const std::optional<std::string> reason = reason_to_close(tail)) {
    return close_tail(token, tail, *reason);
  }
  if (tail.writer->unfinished() && tail.at_end && !tail.writer->blocked() &&
      now_ - tail.file.grown_at() >= options_.idle_flush) {
    tail.writer->flush(StreamParser::Flush::idle, wall_, now_);
  }
  return {};
}

// Of a file that has no name for us any more: may somebody still write it?
bool Follower::is_held(const Tail& tail) {
  if (!tail.file.is_open()) return false;
  const FileFacts& facts = tail.file.facts();
  return open_writers_.ask(facts.device, facts.inode, now_) != OpenWriters::Answer::free;
}

std::optional<std::string> Follower::reason_to_close(const Tail& tail) {
  const auto quiet = now_ - tail.file.grown_at();
  const StreamWriter& writer = *tail.writer;
  const bool deleted = tail.deleted_since.has_value();
  if (deleted && (!tail.at_end || tail.changed)) {
    const std::uint64_t unread = tail.file.known_size() - writer.next_read();
    if (unread > options_.deleted_bytes || now_ - *tail.deleted_since > options_.deleted_age) {
      return "deleted";
    }
  }
  // A lost handle of a file that still has a name is tried again, whatever happens meanwhile.
  if (!tail.file.is_open() && !tail.at_end && !tail.targets.empty()) return std::nullopt;
  if (tail.changed && tail.file.is_open()) return std::nullopt;
  if (options_.once) return tail.at_end ? std::optional<std::string>("once") : std::nullopt;
  if (!tail.at_end && tail.file.is_open()) return std::nullopt;
  if (deleted && quiet >= options_.rotate_wait &&
      now_ - *tail.deleted_since >= options_.rotate_wait &&
      (!is_held(tail) || now_ - *tail.deleted_since > options_.deleted_age)) {
    return "deleted";
  }
  const StreamAttributes& attributes = writer.attributes();
  const bool had_writer =
      exited_.contains(attributes.process) || exited_.contains(attributes.run_of);
  const bool exited = had_writer && std::none_of(tail.targets.begin(), tail.targets.end(),
                                                 [&](const Target* target) {
                                                   return has_living_writer(target->facts);
                                                 });
  if (exited && quiet >= options_.exit_wait && !(deleted && is_held(tail))) return "exited";
  if (tail.targets.empty() && quiet >= options_.rotate_wait && tail.unnamed_since &&
      now_ - *tail.unnamed_since >= options_.rotate_wait && !deleted && !is_held(tail)) {
    return attributes.process.empty() && attributes.run_of.empty() ? "rotated" : "exited";
  }
  return std::nullopt;
}

Status Follower::close_tail(BlockingToken& token, Tail& tail, const std::string& reason) {
  StreamWriter& writer = *tail.writer;
  LGR_CHECK(writer.commit(token));
  if (tail.at_end && tail.file.nul_tail_end() > writer.next_read()) {
    writer.skip_nul(tail.file.nul_tail_end(), wall_, now_);
  }
  writer.flush(StreamParser::Flush::closed, wall_, now_);
  LGR_CHECK(writer.commit(token));
  const std::uint64_t size = std::max(tail.file.known_size(), writer.next_read());
  if (size > writer.next_read()) {
    ++stats_.abandoned;
    LGR_WARN("given up unread stream={} bytes={}", to_text(writer.stream()),
             size - writer.next_read());
    LGR_CHECK(writer.append_gap(token, Gap{writer.next_read(), size, "deleted", wall_}));
  } else if (reason == "deleted" && is_held(tail)) {
    ++stats_.abandoned;
    LGR_WARN("given up although it may still be written stream={}", to_text(writer.stream()));
    LGR_CHECK(writer.append_gap(token, Gap{size, std::nullopt, "deleted", wall_}));
  }
  if (reason == "deleted") ++stats_.deleted;
  writer.source().seen = wall_;
  writer.close(reason, size);
  LGR_CHECK(writer.commit_facts(token));
  remember(writer.checkpoint());
  tail.closed_at_size = writer.spooled();
  tail.generation = writer.stream().generation;
  tail.writer.reset();
  stop_counting(tail);
  tail.file.close();
  tail.state = Tail::State::closed;
  return {};
}

Status Follower::commit_all(BlockingToken& token, bool only_due) {
  for (auto& [base, tail] : tails_) {
    if (tail->state != Tail::State::live || !tail->writer->pending()) continue;
    if (only_due && !tail->writer->due(now_)) continue;
    LGR_CHECK(tail->writer->commit(token));
  }
  return {};
}

// Descriptors are bounded: quiet files give theirs back and are looked at by name.
void Follower::limit_open_files() {
  std::vector<Tail*> open;
  for (auto& [base, tail] : tails_) {
    if (tail->file.is_open()) open.push_back(tail.get());
  }
  if (open.size() <= options_.max_open) return;
  std::sort(open.begin(), open.end(),
            [](const Tail* a, const Tail* b) { return a->file.grown_at() < b->file.grown_at(); });
  std::size_t excess = open.size() - options_.max_open;
  for (Tail* tail : open) {
    if (excess == 0) break;
    const bool idle = tail->state == Tail::State::live ? tail->at_end && !tail->targets.empty()
                                                       : tail->state != Tail::State::asking;
    if (!idle || tail->deleted_since) continue;
    tail->file.close();
    --excess;
  }
}

// Checkpoints of streams that ended, are stored, and ended long ago. The newest generation of a
// base stays while its file is there.
Status Follower::forget_old(BlockingToken& token) {
  std::erase_if(exited_, [&](const std::string& process) {
    const auto named = [&](const auto& target) {
      const std::vector<std::string>& holders = target->facts.holders;
      return target->facts.process == process ||
             std::find(holders.begin(), holders.end(), process) != holders.end();
    };
    return std::none_of(targets_.begin(), targets_.end(), named) &&
           std::none_of(tails_.begin(), tails_.end(), [&](const auto& tail) {
             if (!tail.second->writer) return false;
             const StreamAttributes& attributes = tail.second->writer->attributes();
             return attributes.process == process || attributes.run_of == process;
           });
  });
  const UnixNanos before = wall_ - std::chrono::nanoseconds(options_.forget_after).count();
  for (auto it = known_.begin(); it != known_.end();) {
    auto& [base, generations] = *it;
    const bool present = tails_.contains(base);
    for (auto generation = generations.begin(); generation != generations.end();) {
      const StreamCheckpoint& checkpoint = generation->second;
      const bool newest = std::next(generation) == generations.end();
      const bool live = present && tails_[base]->state == Tail::State::live;
      if (!checkpoint.closed || (newest && present && !live) ||
          parse_source_state(checkpoint.source).closed_at > before ||
          !log_.acknowledged(checkpoint.stream, checkpoint.position)) {
        ++generation;
        continue;
      }
      LGR_CHECK(log_.forget(token, checkpoint.stream));
      generation = generations.erase(generation);
    }
    it = generations.empty() ? known_.erase(it) : std::next(it);
  }
  return {};
}

}  // namespace logarithm::agent
