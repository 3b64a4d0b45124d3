#include "aggregator/store/attempts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace logarithm::aggregator {
namespace {

// The attempts found so far: sets of processes that overlap and have no rank twice. Numbers of sets
// are given in order of their first process and stay; a set that was taken up by another is empty.
class AttemptSets {
 public:
  explicit AttemptSets(const std::vector<ProcessInfo>& processes)
      : processes_(processes), set_of_(processes.size(), 0) {}

  std::size_t set_of(std::size_t process) const { return set_of_[process]; }

  // Puts `process` into the newest of `candidates` that lacks its rank, else into a set of its own;
  // then joins the other candidates as far as their ranks differ.
  void place(std::size_t process, std::vector<std::size_t> candidates) {
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    Set own;
    own.members.push_back(process);
    if (processes_[process].rank) own.ranks.insert(*processes_[process].rank);
    set_of_[process] = sets_.size();
    sets_.push_back(std::move(own));
    for (const std::size_t candidate : candidates) join(set_of_[process], candidate);
  }

 private:
  struct Set {
    std::vector<std::size_t> members;
    std::set<std::int32_t> ranks;
  };

  void join(std::size_t a, std::size_t b) {
    if (a == b) return;
    Set& kept = sets_[std::min(a, b)];
    Set& taken = sets_[std::max(a, b)];
    const bool clash = std::any_of(taken.ranks.begin(), taken.ranks.end(),
                                   [&](std::int32_t rank) { return kept.ranks.contains(rank); });
    if (clash) return;
    kept.ranks.merge(taken.ranks);
    for (const std::size_t member : taken.members) {
      set_of_[member] = std::min(a, b);
      kept.members.push_back(member);
    }
    taken = Set();
  }

  const std::vector<ProcessInfo>& processes_;
  std::vector<std::size_t> set_of_;
  std::vector<Set> sets_;
};

// Agents repeat living processes every 15 s, and tell an exit at once. So who did not end lives,
// until it has not been heard of for this long.
constexpr UnixNanos kSilence = 60'000'000'000;

// Until when anything is known of the job.
UnixNanos newest_of(const std::vector<ProcessInfo>& processes) {
  UnixNanos newest = INT64_MIN;
  for (const ProcessInfo& one : processes) {
    newest = std::max({newest, one.start, one.last_seen, one.exit.value_or(one.start)});
  }
  return newest;
}

// When `process` ended, or until when it may be taken to live.
UnixNanos end_of(const ProcessInfo& process, UnixNanos newest) {
  if (process.exit) return std::max(*process.exit, process.start);
  const UnixNanos seen = std::max(process.last_seen, process.start);
  return std::max(seen, std::min(newest, seen + kSilence));
}

UnixNanos end_error_of(const ProcessInfo& process) {
  return process.exit ? std::max<UnixNanos>(process.exit_error, 0) : 0;
}

// `earlier` started no later than `later`.
bool linked(const ProcessInfo& earlier, const ProcessInfo& later, UnixNanos newest) {
  if (earlier.host == later.host && earlier.restart_count != later.restart_count) return false;
  const bool earlier_ends_first = end_of(earlier, newest) <= end_of(later, newest);
  const ProcessInfo& first_to_end = earlier_ends_first ? earlier : later;
  const UnixNanos overlap = end_of(first_to_end, newest) - later.start;
  // A process is not its own neighbour in time: what is unknown is when the later one began (and
  // the earlier one, if both began together) and when the first one ended.
  const UnixNanos error = std::max<UnixNanos>(later.start_error, 0) + end_error_of(first_to_end);
  return overlap > std::max(error, kLeastOverlap);
}

}  // namespace

std::vector<std::int32_t> compute_attempts(const std::vector<ProcessInfo>& processes) {
  std::vector<std::int32_t> attempts(processes.size(), 0);
  const bool all_stated = std::all_of(processes.begin(), processes.end(),
                                      [](const auto& p) { return p.stated_attempt.has_value(); });
  if (all_stated) {
    std::transform(processes.begin(), processes.end(), attempts.begin(),
                   [](const ProcessInfo& p) { return *p.stated_attempt; });
    return attempts;
  }

  std::vector<std::size_t> order(processes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const ProcessInfo &pa = processes[a], &pb = processes[b];
    if (pa.start != pb.start) return pa.start < pb.start;
    return pa.host != pb.host ? pa.host < pb.host : pa.pid < pb.pid;
  });

  const UnixNanos newest = newest_of(processes);
  AttemptSets sets(processes);
  std::vector<std::size_t> alive;  // started before, not ended yet
  for (const std::size_t next : order) {
    std::erase_if(alive, [&](std::size_t i) {
      return end_of(processes[i], newest) <= processes[next].start;
    });
    std::vector<std::size_t> candidates;
    for (const std::size_t other : alive) {
      if (linked(processes[other], processes[next], newest))
        candidates.push_back(sets.set_of(other));
    }
    sets.place(next, std::move(candidates));
    alive.push_back(next);
  }

  std::vector<std::int32_t> number(processes.size(), -1);
  std::int32_t sets_seen = 0;
  for (std::size_t i : order) {
    std::int32_t& of_set = number[sets.set_of(i)];
    if (of_set < 0) of_set = sets_seen++;
    attempts[i] = of_set;
  }
  return attempts;
}

}  // namespace logarithm::aggregator
