#include <algorithm>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"

// One turn of reading.
namespace logarithm::agent {

// The first bytes after a truncation tell where the old content ended.
void Follower::look_for_data(BlockingToken& token, EndingStream& ending) {
  if (!ending.waits()) return;
  const auto tail = tails_.find(ending.stream().base);
  if (draining_ || tail == tails_.end() || !tail->second->file.is_open()) {
    return ending.give_up_waiting();
  }
  const Result<FileFacts> facts = tail->second->file.file().facts(token);
  if (!facts.ok()) return ending.give_up_waiting();
  const auto start = data_start(token, tail->second->file.file(), facts->size);
  if (start) ending.data_began(*start);
}

Status Follower::run_endings(BlockingToken& token, StepReport& report) {
  for (std::size_t i = 0; i < endings_.size();) {
    EndingStream& ending = *endings_[i];
    look_for_data(token, ending);
    const std::uint64_t before = stats_.bytes;
    Result<bool> done = ending.step(token, options_.read_bytes, buffer_, now_, wall_);
    report.bytes += stats_.bytes - before;
    if (const std::optional<StreamBase>& copy = ending.copy(); copy && !copies_.contains(*copy)) {
      take_copy(*copy);
      if (const auto tail = tails_.find(ending.stream().base); tail != tails_.end()) {
        tail->second->copies.push_back(*copy);
        if (tail->second->writer) {
          tail->second->writer->source().copies = tail->second->copies;
          start_counting(token, *tail->second);
        }
      }
    }
    if (!done.ok()) return done.error();
    if (!*done) {
      report.more = report.more || !ending.waits();
      ++i;
      continue;
    }
    remember(ending.writer().checkpoint());
    endings_.erase(endings_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {};
}

// Lines cost more than bytes.
std::size_t Follower::read_size(const Tail& tail) const {
  constexpr double kLeast = 16u << 10;
  const double wanted = tail.writer->average_line() * static_cast<double>(options_.read_lines);
  return std::min(options_.read_bytes, static_cast<std::size_t>(std::max(wanted, kLeast)));
}

// One read of a live file.
Status Follower::read_one(BlockingToken& token, Tail& tail, StepReport& report) {
  if (!tail.file.is_open()) return {};
  const UnixNanos observed = tail.imported ? tail.file.facts().modified : wall_;
  if (tail.writer->blocked()) LGR_CHECK(tail.writer->commit(token));
  const TailedFile::Outcome outcome =
      tail.file.read(token, *tail.writer, read_size(tail), buffer_, observed, now_, wall_);
  tail.read_turn = turn_;
  report.bytes += outcome.bytes;
  if (outcome.change == FileChange::lost) {
    ++stats_.handles_lost;
    return {};
  }
  if (outcome.change != FileChange::none) {
    end_generation(token, tail);
    report.more = true;
    return {};
  }
  if (tail.cut) tail.cut->read(outcome.bytes, outcome.lines, outcome.line_end);
  SourceState& source = tail.writer->source();
  source.inode = tail.file.facts().inode;
  source.birth = tail.file.facts().birth;
  source.size = tail.file.known_size();
  source.seen = wall_;
  source.imported = tail.imported;
  if (!tail.paths.empty()) source.path = tail.paths.back();
  if (outcome.bytes > 0) source.grown = wall_;
  source.rate = static_cast<std::uint64_t>(tail.file.rate(now_));
  if (tail.writer->due(now_)) LGR_CHECK(tail.writer->commit(token));
  if (tail.cut && outcome.at_end) tail.settles_at = tail.cut->events();
  tail.at_end = outcome.at_end;
  tail.changed = !outcome.at_end;
  return {};
}

bool Follower::has_living_writer(const FollowTarget& target) const {
  const auto lives = [&](const std::string& process) { return !exited_.contains(process); };
  if (target.shared) return std::any_of(target.holders.begin(), target.holders.end(), lives);
  return !target.process.empty() && lives(target.process);
}

// What is written after the process ended may be its successor's, which no scan has seen yet (a
// requeue appends to the same file). It waits in the file for a scan that began after it was there.
bool Follower::waits_for_scan(BlockingToken& token, Tail& tail) {
  const bool has_writer =
      std::any_of(tail.targets.begin(), tail.targets.end(),
                  [&](const Target* target) { return has_living_writer(target->facts); });
  const StreamAttributes& attributes = tail.writer->attributes();
  const bool ended = !(attributes.process.empty() && attributes.run_of.empty()) && !has_writer;
  if (options_.once || tail.imported || tail.targets.empty() || !ended || !tail.file.is_open()) {
    tail.scan.reset();
    return false;
  }
  if (!tail.scan) {
    const Result<FileFacts> facts = tail.file.file().facts(token);
    if (!facts.ok() || facts->size <= tail.writer->next_read()) return false;
    tail.scan = scans_;
    tail.scan_since = now_;
  }
  if (scans_ > *tail.scan || now_ - tail.scan_since >= options_.scan_wait) {
    tail.scan.reset();
    return false;
  }
  wants_scan_ = true;
  return true;
}

// Round robin: every file that has something gets one read before any gets a second.
Status Follower::read_round(BlockingToken& token, StepReport& report) {
  std::vector<Tail*> ready;
  bool went_live = false;
  for (auto& [base, tail] : tails_) {
    if (tail->targets.empty() && !tail->file.is_open() && tail->state == Tail::State::live &&
        tail->file.may_reopen(now_) && !tail->paths.empty() &&
        !tail->file.reopen(token, fs_, tail->paths.back()).ok()) {
      tail->file.postpone(now_);
    }
    const bool waits = tail->state == Tail::State::asking || tail->original.has_value();
    if (waits || (tail->state == Tail::State::fresh && tail->changed)) {
      LGR_CHECK(resolve(token, *tail));
      went_live = went_live || tail->state == Tail::State::live;
      if (tail->state == Tail::State::fresh && tail->file.facts().size == 0) tail->changed = false;
      // A copy is decided in the next turn, when its original was looked at.
      if (tail->state == Tail::State::fresh && tail->found_turn == turn_) report.more = true;
    }
    if (tail->state != Tail::State::live) continue;
    if (!tail->changed || waits_for_scan(token, *tail)) continue;
    // All that the last writer wrote is read: what follows is the next one's.
    if (tail->at_end && tail->facts_changed) LGR_CHECK(update_attributes(token, *tail));
    ready.push_back(tail.get());
  }
  if (ready.size() > 1) {
    std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(turn_ % ready.size()),
                ready.end());
  }
  // Before a file's first bytes are read, so that this read already is a moment in which all that
  // was counted is known: a job's first rotation may come within the second.
  if (went_live) count_ahead(token);
  std::uint64_t budget = options_.step_bytes;
  if (!ready.empty()) count_writes();
  while (!ready.empty() && budget > 0) {
    std::vector<Tail*> again;
    for (Tail* tail : ready) {
      if (budget == 0 || clock_.now() - now_ >= options_.step_time) {
        budget = 0;
        again.push_back(tail);
        continue;
      }
      const std::uint64_t before = report.bytes;
      LGR_CHECK(read_one(token, *tail, report));
      budget -=
          std::min<std::uint64_t>(budget, std::max<std::uint64_t>(report.bytes - before, 4096));
      const bool readable = tail->state == Tail::State::live && tail->file.is_open();
      if (readable && !tail->at_end) again.push_back(tail);
    }
    settle_counts();
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
  for (const StreamBase& base : gone) {
    stop_counting(*tails_[base]);
    tails_.erase(base);
  }
  return {};
}

}  // namespace logarithm::agent
