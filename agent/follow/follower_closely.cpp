#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"

// A copytruncate rotation may be under way: what is written after the copy and before the cut can
// only be had from the original, now, and whether something was written after that can only be
// known by counting writes.
namespace logarithm::agent {
namespace {

constexpr double kMostLines = 20'000;  // a second: beyond it looks cost more than the gap is worth
constexpr std::chrono::milliseconds kWait{500};  // for the cut, after the copy stopped growing
constexpr std::chrono::seconds kLongest{60};
constexpr std::chrono::milliseconds kLateEvent{20};
constexpr std::uint64_t kMostNew = 64u << 10;  // of the new content, to count its lines
// Files that are counted before anything is known of a rotation, and the lines a second of their
// directories: it costs a writer some 0.5 µs a write, and us as much. Room is left for files that
// are known to be rotated.
constexpr std::size_t kMostAhead = 48;
constexpr double kMostLinesAhead = 5'000;
constexpr std::chrono::minutes kAheadAgain{1};

}  // namespace

// A file that is named like a rotated one of ours was created.
void Follower::note_rotations(BlockingToken& token, const std::vector<std::string>& created) {
  for (const std::string& path : created) {
    for (const auto& [base, tail] : tails_) {
      if (tail->state != Tail::State::live || tail->imported || !tail->file.is_open()) continue;
      const double lines = tail->file.rate(now_) / tail->writer->average_line();
      const bool related = std::any_of(
          tail->paths.begin(), tail->paths.end(),
          [&](const std::string& original) { return is_rotation_path(path, original); });
      if (!related || lines >= kMostLines) continue;
      Closely& closely = closely_[base];
      closely.copy = path;
      closely.copy_size = 0;
      closely.until = now_ + kWait;
      closely.longest = now_ + kLongest;
      start_counting(token, *tail);
    }
  }
}

// Rotation comes again: a file that was rotated by copying once is counted ever after, so that the
// next cut is understood even when it comes before our next turn.
void Follower::start_counting(BlockingToken& token, Tail& tail) {
  if (tail.cut || !options_.inotify || options_.once || tail.imported || tail.network) return;
  if (!tail.file.is_open() || tail.file.facts().links != 1) return;
  // The real path: through a symbolic link the directory would not see the writes.
  const std::string real = tail.file.file().current_path(token);
  if (real.empty() || !writes_.watch(real)) return;
  tail.counted = real;
  tail.cut = std::make_unique<CutCount>();
  tail.file.count_lines(true);
  counted_[real] = tail.base;
}

// The first rotation may be over before our first turn after it began. It is understood only where
// writes were counted before; of all other files the estimate has to do. A directory's watch sees
// the writes to all of its files: none is counted beside a busy one.
void Follower::count_ahead(BlockingToken& token) {
  if (!options_.inotify || options_.once) return;
  if (writes_.take_events() > WriteCounter::kMostEvents) count_ahead_at_ = now_ + kAheadAgain;
  std::map<std::string, double> lines;  // a second, by directory
  std::vector<Tail*> live;
  for (auto& [base, tail] : tails_) {
    if (tail->state != Tail::State::live || tail->imported || tail->paths.empty()) continue;
    lines[directory_of(tail->paths.back())] += tail->file.rate(now_) / tail->writer->average_line();
    live.push_back(tail.get());
  }
  std::set<std::string> ahead;  // directories in which files are counted
  double total = 0;
  std::size_t files = 0;
  for (Tail* tail : live) {
    const std::string directory = directory_of(tail->paths.back());
    const bool fresh = !ahead.contains(directory);
    const bool fits = now_ >= count_ahead_at_ && files < kMostAhead &&
                      total + (fresh ? lines[directory] : 0) <= kMostLinesAhead;
    const bool known = !tail->copies.empty() || closely_.contains(tail->base);
    if (!fits && !known) {
      stop_counting(*tail);
      continue;
    }
    start_counting(token, *tail);
    if (known || !tail->cut) continue;
    ++files;
    if (fresh) total += lines[directory];
    ahead.insert(directory);
  }
}

void Follower::stop_counting(Tail& tail) {
  if (!tail.cut) return;
  writes_.forget(tail.counted);
  counted_.erase(tail.counted);
  tail.counted.clear();
  tail.cut.reset();
  tail.settles_at.reset();
  tail.file.count_lines(false);
}

void Follower::count_writes() {
  for (const auto& [path, events] : writes_.take()) {
    const auto base = counted_.find(path);
    const auto tail = base == counted_.end() ? tails_.end() : tails_.find(base->second);
    if (tail == tails_.end()) {
      writes_.forget(path);
    } else if (events) {
      tail->second->cut->wrote(*events);
    } else {
      stop_counting(*tail->second);  // renamed, or more than the kernel keeps
    }
  }
}

// After reads that count_writes() came before: a file that was read to its end and got no event
// since has nothing under way.
void Follower::settle_counts() {
  count_writes();
  for (const auto& [path, base] : counted_) {
    const auto tail = tails_.find(base);
    if (tail == tails_.end() || !tail->second->settles_at) continue;
    CutCount* cut = tail->second->cut.get();
    if (cut != nullptr && cut->events() == *tail->second->settles_at) cut->settled();
    tail->second->settles_at.reset();
  }
}

void Follower::wait_for_write(BlockingToken& token, std::chrono::milliseconds longest) {
  if (writes_.empty()) return watcher_.wait_for_write(token, longest);
  writes_.wait(token, longest);
}

// The copy of a big file takes its time.
bool Follower::goes_on(BlockingToken& token, Closely& closely, const Tail* tail) {
  if (tail == nullptr || tail->state != Tail::State::live) return false;
  if (now_ < closely.until) return true;
  const Result<FileFacts> copy = fs_.stat(token, closely.copy);
  const bool grows = copy.ok() && copy->size > closely.copy_size && now_ < closely.longest;
  if (!grows) return false;
  closely.copy_size = copy->size;
  closely.until = now_ + kWait;
  return true;
}

// Reads such files after each write, for some milliseconds a turn, until they were cut.
Status Follower::read_closely(BlockingToken& token, StepReport& report) {
  static constexpr int kLooks = 10;
  for (int look = 0; look < kLooks && !closely_.empty(); ++look) {
    wait_for_write(token, std::chrono::milliseconds(2));
    now_ = clock_.now();
    wall_ = clock_.wall_now();
    for (auto it = closely_.begin(); it != closely_.end();) {
      const auto found = tails_.find(it->first);
      Tail* tail = found == tails_.end() ? nullptr : found->second.get();
      if (!goes_on(token, it->second, tail)) {
        it = closely_.erase(it);
        continue;
      }
      // Nothing was written until the wait ended, or it would have ended before: where all writes
      // are told.
      if (tail->cut && tail->at_end && look > 0) tail->file.was_quiet(wall_);
      count_writes();
      LGR_CHECK(read_one(token, *tail, report));
      settle_counts();
      ++it;
    }
    // What else happened meanwhile is found by looking.
    const DirWatcher::Events events = watcher_.drain();
    note_rotations(token, events.created);
    if (!events.paths.empty() || !events.created.empty()) next_poll_ = now_;
  }
  report.more = report.more || !closely_.empty();
  return {};
}

// Of a file that was found cut: how many lines were written between our last read and that; nullopt
// when nobody can know.
std::optional<std::uint64_t> Follower::unexplained_lines(BlockingToken& token, Tail& tail) {
  static constexpr int kTries = 8;
  for (int i = 0; i < kTries && tail.cut; ++i) {
    count_writes();
    if (!tail.cut) break;
    const std::uint64_t events = tail.cut->events();
    const Result<FileFacts> facts = tail.file.file().facts(token);
    if (!facts.ok() || facts->size > kMostNew) break;
    const Result<std::string> fresh = read_range(token, tail.file.file(), 0, facts->size);
    if (events == 0) wait_for_write(token, std::chrono::milliseconds(1));
    count_writes();
    if (!fresh.ok() || !tail.cut || tail.cut->events() != events || events == 0) continue;
    const auto lines = static_cast<std::uint64_t>(std::count(fresh->begin(), fresh->end(), '\n'));
    return tail.cut->lost(fresh->size(), lines, fresh->empty() || fresh->back() == '\n');
  }
  return std::nullopt;
}

// The same, and ends the counting. A writer may have been interrupted after a write, before its
// event: nobody missing is believed only when the next write, or some time, brought nothing more.
std::optional<std::uint64_t> Follower::lost_lines(BlockingToken& token, Tail& tail) {
  std::optional<std::uint64_t> lost = unexplained_lines(token, tail);
  if (lost == 0) {
    writes_.wait(token, kLateEvent);
    if (const auto later = unexplained_lines(token, tail)) lost = later;
  }
  stop_counting(tail);
  if (const auto closely = closely_.find(tail.base); closely != closely_.end()) {
    closely->second.until = closely->second.longest = now_;  // over
  }
  return lost;
}

}  // namespace logarithm::agent
