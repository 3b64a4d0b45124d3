#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// Which readings of hosts' clocks are worth keeping: the first, one that differs from the last kept
// by more than both may be wrong (at most one a minute, a step at once), one that is known twice as
// well, and one every half hour. Not thread-safe.
class ClockHistory {
 public:
  void note(const std::string& tenant, const std::string& host, const ClockReading& reading);
  // What is to be stored since the last call.
  std::vector<HostClock> take() { return std::exchange(waiting_, {}); }
  // Storing failed: they are tried again. Bounded; the oldest go first.
  void give_back(std::vector<HostClock> readings);

  static constexpr std::size_t kMaxHosts = 65'536;  // more are not kept
  static constexpr std::size_t kMaxWaiting = 65'536;

 private:
  std::map<std::pair<std::string, std::string>, ClockReading> kept_;  // newest per host
  std::vector<HostClock> waiting_;
};

// Whether `next` is kept after `last`.
bool worth_keeping(const ClockReading& last, const ClockReading& next);

}  // namespace logarithm::aggregator
