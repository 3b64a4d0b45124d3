#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {

// By how much one clock is ahead of another: surely in [lo, hi], probably `estimate`; nanoseconds.
struct Offset {
  std::int64_t lo = 0, hi = 0, estimate = 0;
};

// How much later one thing was than another.
struct Distance {
  std::int64_t lo = 0, hi = 0, estimate = 0;
  bool surely_later() const { return lo > 0; }
};

// A host's clock from `from` to `to`, of its history (ascending, as storage keeps it); nullopt when
// there is none. Covers what it moved meanwhile.
std::optional<ClockFact> clock_over(const std::vector<ClockReading>& history, UnixNanos from,
                                    UnixNanos to);

// The clocks of an attempt. Ranks of one host share one. Between hosts a barrier in every iteration
// bounds the offset: no rank can say iteration k + 2 before another has said k. All these bounds
// together are often narrower than a step, and they hold however late a rank is. The agents' own
// measurements, where there are some, narrow them further. The facts must outlive it.
class Clocks {
 public:
  explicit Clocks(const Facts& facts);

  // nullopt: nothing is known (no common iterations, stamps that no rank wrote, or bounds that
  // contradict each other: a clock was set meanwhile).
  std::optional<Offset> between(const RankFacts& a, const RankFacts& b) const;
  // How much later `later` of rank b was than `earlier` of rank a.
  std::optional<Distance> distance(const RankFacts& a, const Span& earlier, const RankFacts& b,
                                   const Span& later) const;

  // Ranks of one clock have the same number. `rank` is one of the facts'.
  std::size_t clock_of(const RankFacts& rank) const;

 private:
  struct Times {
    std::int64_t iteration = 0;
    UnixNanos first = 0, last = 0;  // over the clock's ranks
  };
  struct Clock {
    std::vector<Times> times;  // ascending by iteration
    bool stamped = true;
    UnixNanos resolution = 1;
    std::optional<ClockFact> measured;
  };
  static std::optional<Offset> compute(const Clock& a, const Clock& b);

  const std::vector<RankFacts>& ranks_;
  std::vector<std::size_t> of_rank_;  // by position in ranks_
  std::vector<Clock> clocks_;
  mutable std::unordered_map<std::uint64_t, std::optional<Offset>> known_;
};

}  // namespace logarithm::aggregator::triage
