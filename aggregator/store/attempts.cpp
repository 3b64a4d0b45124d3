#include "aggregator/store/attempts.h"

#include <algorithm>
#include <numeric>

namespace logarithm::aggregator {
namespace {

class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t item) {
    while (parent_[item] != item) {
      parent_[item] = parent_[parent_[item]];
      item = parent_[item];
    }
    return item;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

UnixNanos end_of(const ProcessInfo& process) {
  return std::max(process.exit.value_or(process.last_seen), process.start);
}

UnixNanos end_error_of(const ProcessInfo& process) {
  return process.exit ? std::max<UnixNanos>(process.exit_error, 0) : 0;
}

// `earlier` started no later than `later`.
bool linked(const ProcessInfo& earlier, const ProcessInfo& later) {
  if (earlier.host == later.host && earlier.restart_count != later.restart_count) return false;
  const bool earlier_ends_first = end_of(earlier) <= end_of(later);
  const ProcessInfo& first_to_end = earlier_ends_first ? earlier : later;
  const UnixNanos overlap = end_of(first_to_end) - later.start;
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

  UnionFind sets(processes.size());
  std::vector<std::size_t> alive;  // started before, not ended yet
  for (std::size_t next : order) {
    std::erase_if(alive,
                  [&](std::size_t i) { return end_of(processes[i]) <= processes[next].start; });
    for (std::size_t other : alive) {
      if (linked(processes[other], processes[next])) sets.join(other, next);
    }
    alive.push_back(next);
  }

  std::vector<std::int32_t> number(processes.size(), -1);
  std::int32_t sets_seen = 0;
  for (std::size_t i : order) {
    std::int32_t& of_set = number[sets.find(i)];
    if (of_set < 0) of_set = sets_seen++;
    attempts[i] = of_set;
  }
  return attempts;
}

}  // namespace logarithm::aggregator
