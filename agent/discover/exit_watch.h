#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/async/blocking.h"

namespace logarithm::agent {

// Learns at once that a process exited, though it is no child of ours: a pidfd becomes readable.
// File thread only, but for fds().
class ExitWatch {
 public:
  ExitWatch() = default;
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  // False where that cannot be had (no such process, no pidfds, no descriptors left): the caller
  // then looks at /proc. The caller checks afterwards that the pid is still the process it meant.
  bool add(BlockingToken&, std::int32_t pid);
  void remove(std::int32_t pid);
  bool watches(std::int32_t pid) const { return fds_.contains(pid); }

  // Those of the watched that have exited by now; they stay watched until remove().
  std::vector<std::int32_t> exited(BlockingToken&) const;

  // Readable when a process has exited, for those who want to wait. Owned by the watch: valid until
  // the next add() or remove().
  std::vector<int> fds() const;

 private:
  std::map<std::int32_t, int> fds_;
};

}  // namespace logarithm::agent
