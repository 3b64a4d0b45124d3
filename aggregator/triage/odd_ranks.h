#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// Ranks whose last words differ from those of their peers; ascending. Each list is empty where it
// would name half of the ranks.
struct Odd {
  std::vector<std::int32_t> behind;  // lack a line, or an iteration, that the others said
  std::vector<std::int32_t> extra;   // said last what no other says
};

// Of an attempt that stands still: while it goes on, somebody is always a line behind.
Odd odd_ranks(const Analysis& analysis);

// What a line may take from the program to the answer, nanoseconds.
inline constexpr std::int64_t kDelivery = 2'000'000'000;
// Clocks of programs and file servers are hardly further apart than this, nanoseconds.
inline constexpr std::int64_t kOtherClock = 15'000'000'000;
// So many of its longest steps a job may take for the next one.
inline constexpr std::int64_t kSteps = 3;

}  // namespace logarithm::aggregator::triage
