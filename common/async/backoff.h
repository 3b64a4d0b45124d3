#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace logarithm {

// Delays between attempts: "full jitter" exponential, a uniform value in [0, min(cap, base * 2^n)],
// so that a fleet that lost its server does not return in step. Pure: the owner sleeps. With one
// seed the delays are always the same.
class Backoff {
 public:
  Backoff(std::chrono::nanoseconds base, std::chrono::nanoseconds cap, std::uint64_t seed)
      : base_(base), cap_(cap), ceiling_(std::min(base, cap)), random_(seed) {}

  // The delay before the next attempt.
  std::chrono::nanoseconds next() {
    const std::chrono::nanoseconds ceiling = ceiling_;
    ceiling_ = ceiling_ > cap_ / 2 ? cap_ : ceiling_ * 2;
    // Not uniform_int_distribution: its values differ between standard libraries.
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(ceiling.count(), 0)) + 1;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(random_() % span));
  }

  // An attempt worked: start again from the base.
  void reset() { ceiling_ = std::min(base_, cap_); }

 private:
  std::chrono::nanoseconds base_;
  std::chrono::nanoseconds cap_;
  std::chrono::nanoseconds ceiling_;
  std::mt19937_64 random_;
};

}  // namespace logarithm
