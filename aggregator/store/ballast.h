#pragma once

#include <cstdint>
#include <string>

#include "common/async/blocking.h"

namespace logarithm::aggregator {

// A file that takes room so that there is some to give back: on a disk that others filled, what
// frees space (retention) must first write down what it is about to unlink. One thread.
class Ballast {
 public:
  explicit Ballast(std::string path) : path_(std::move(path)) {}

  // Takes the room, when there is plenty of it.
  void take(BlockingToken&, std::uint64_t free_bytes);
  // Gives it back. False when there is none.
  bool drop(BlockingToken&);

  static constexpr std::uint64_t kBytes = 4u << 20;

 private:
  std::string path_;
  bool taken_ = false;
};

}  // namespace logarithm::aggregator
