#include <algorithm>
#include <utility>

#include "agent/follow/tail.h"
#include "common/base/logging.h"

// One turn of reading, cutting, closing.
namespace logarithm::agent {

Status Follower::run_endings(BlockingToken& token, StepReport& report) {
  for (std::size_t i = 0; i < endings_.size();) {
    EndingStream& ending = *endings_[i];
    const std::uint64_t before = stats_.bytes;
    Result<bool> done = ending.step(token, options_.read_bytes, buffer_, now_, wall_);
    report.bytes += stats_.bytes - before;
    if (const std::optional<StreamBase>& copy = ending.copy(); copy && !copies_.contains(*copy)) {
      take_copy(*copy);
      if (const auto tail = tails_.find(ending.stream().base); tail != tails_.end()) {
        tail->second->copies.push_back(*copy);
        if (tail->second->writer) tail->second->writer->source().copies = tail->second->copies;
      }
    }
    if (!done.ok()) return done.error();
    if (!*done) {
      report.more = true;
      ++i;
      continue;
    }
    remember(ending.writer().checkpoint());
    endings_.erase(endings_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {};
}

// Round robin: every file that has something gets one read before any gets a second.
Status Follower::read_round(BlockingToken& token, StepReport& report) {
  std::vector<Tail*> ready;
  for (auto& [base, tail] : tails_) {
    if (tail->targets.empty() && !tail->file.is_open() && tail->state == Tail::State::live &&
        tail->file.may_reopen(now_) && !tail->paths.empty() &&
        !tail->file.reopen(token, fs_, tail->paths.back()).ok()) {
      tail->file.postpone(now_);
    }
    const bool waits = tail->state == Tail::State::asking || tail->original.has_value();
    if (waits || (tail->state == Tail::State::fresh && tail->changed)) {
      LGR_CHECK(resolve(token, *tail));
      if (tail->state == Tail::State::fresh && tail->file.facts().size == 0) tail->changed = false;
      // A copy is decided in the next turn, when its original was looked at.
      if (tail->state == Tail::State::fresh && tail->found_turn == turn_) report.more = true;
    }
    if (tail->state != Tail::State::live) continue;
    if (tail->changed) ready.push_back(tail.get());
  }
  if (ready.size() > 1) {
    std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(turn_ % ready.size()),
                ready.end());
  }
  std::uint64_t budget = options_.step_bytes;
  while (!ready.empty() && budget > 0) {
    std::vector<Tail*> again;
    for (Tail* tail : ready) {
      if (budget == 0) {
        again.push_back(tail);
        continue;
      }
      if (!tail->file.is_open()) continue;
      const UnixNanos observed = tail->imported ? tail->file.facts().modified : wall_;
      if (tail->writer->blocked()) LGR_CHECK(tail->writer->commit(token));
      const TailedFile::Outcome outcome = tail->file.read(token, *tail->writer, options_.read_bytes,
                                                          buffer_, observed, now_, wall_);
      tail->read_turn = turn_;
      report.bytes += outcome.bytes;
      budget -= std::min<std::uint64_t>(budget, std::max<std::uint64_t>(outcome.bytes, 4096));
      if (outcome.change == FileChange::lost) {
        ++stats_.handles_lost;
        continue;
      }
      if (outcome.change != FileChange::none) {
        end_generation(token, *tail);
        report.more = true;
        continue;
      }
      SourceState& source = tail->writer->source();
      source.inode = tail->file.facts().inode;
      source.birth = tail->file.facts().birth;
      source.size = tail->file.known_size();
      source.seen = wall_;
      source.imported = tail->imported;
      if (!tail->paths.empty()) source.path = tail->paths.back();
      if (outcome.bytes > 0) source.grown = wall_;
      source.rate = static_cast<std::uint64_t>(tail->file.rate(now_));
      if (tail->writer->due(now_)) LGR_CHECK(tail->writer->commit(token));
      tail->at_end = outcome.at_end;
      tail->changed = !outcome.at_end;
      if (!outcome.at_end) again.push_back(tail);
    }
    ready = std::move(again);
  }
  report.more = report.more || !ready.empty();
  std::vector<StreamBase> gone;
  for (auto& [base, tail] : tails_) {
    LGR_CHECK(settle(token, *tail));
    if (tail->state != Tail::State::live && tail->targets.empty() && may_drop(*tail)) {
      gone.push_back(base);
    }
  }
  for (const StreamBase& base : gone) tails_.erase(base);
  return {};
}

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

std::optional<std::string> Follower::reason_to_close(const Tail& tail) const {
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
      now_ - *tail.deleted_since >= options_.rotate_wait) {
    return "deleted";
  }
  const bool exited = exited_.contains(writer.attributes().process) &&
                      std::all_of(tail.targets.begin(), tail.targets.end(), [&](const Target* t) {
                        return t->facts.process.empty() || exited_.contains(t->facts.process);
                      });
  if (exited && quiet >= options_.exit_wait) return "exited";
  if (tail.targets.empty() && quiet >= options_.rotate_wait && tail.unnamed_since &&
      now_ - *tail.unnamed_since >= options_.rotate_wait) {
    return writer.attributes().process.empty() ? "rotated" : "exited";
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
  }
  if (reason == "deleted") ++stats_.deleted;
  writer.source().seen = wall_;
  writer.close(reason, size);
  LGR_CHECK(writer.commit_facts(token));
  remember(writer.checkpoint());
  tail.closed_at_size = writer.spooled();
  tail.generation = writer.stream().generation;
  tail.writer.reset();
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
    return std::none_of(targets_.begin(), targets_.end(),
                        [&](const auto& target) { return target->facts.process == process; }) &&
           std::none_of(tails_.begin(), tails_.end(), [&](const auto& tail) {
             return tail.second->writer && tail.second->writer->attributes().process == process;
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
