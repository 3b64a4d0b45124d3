#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace logarithm {

// Delays between attempts of a fleet that lost its server: rounds of base, 2 base, 4 base … cap,
// one attempt in each round, at a place that is drawn once (uniform in [0, 1), from 0). So whenever
// the server comes back, the fleet is spread evenly over what is left of one round and the next:
// peak to mean stays under 3 in 100 ms (case 73). Drawing each delay anew ("full jitter") gives a
// long tail instead, and 9. Pure: the owner sleeps. With one seed the delays are always the same.
class Backoff {
 public:
  Backoff(std::chrono::nanoseconds base, std::chrono::nanoseconds cap, std::uint64_t seed)
      : base_(std::min(base, cap)), cap_(cap), random_(seed) {
    reset();
  }

  // The delay before the next attempt.
  std::chrono::nanoseconds next() {
    const std::chrono::nanoseconds rest = before_ - part(before_);
    const std::chrono::nanoseconds delay = part(round_);
    before_ = round_;
    round_ = round_ > cap_ / 2 ? cap_ : round_ * 2;
    return rest > std::chrono::nanoseconds::max() - delay ? cap_ : rest + delay;
  }

  // An attempt worked: start again from the base, at another place.
  void reset() {
    before_ = std::chrono::nanoseconds(0);
    round_ = base_;
    // Not uniform_int_distribution: its values differ between standard libraries.
    place_ = random_() >> 44;
  }

 private:
  // How much of a round passes before the attempt.
  std::chrono::nanoseconds part(std::chrono::nanoseconds round) const {
    constexpr std::int64_t kSteps = std::int64_t{1} << 20;
    const auto place = static_cast<std::int64_t>(place_);
    return std::chrono::nanoseconds(round.count() / kSteps * place +
                                    round.count() % kSteps * place / kSteps);
  }

  std::chrono::nanoseconds base_, cap_, before_{0}, round_{0};
  std::uint64_t place_ = 0;  // of 2^20
  std::mt19937_64 random_;
};

}  // namespace logarithm
