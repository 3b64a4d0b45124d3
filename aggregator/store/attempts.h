#pragma once

#include <cstdint>
#include <vector>

#include "common/model/process.h"

namespace logarithm::aggregator {

// An overlap of less never links, however exact the stamps claim to be (/proc counts in 10 ms
// ticks; half of one is the rounding).
inline constexpr UnixNanos kLeastOverlap = 5'000'000;

// The attempt of every process of one job, by position in `processes`: a pure function of stored
// facts, so it can be corrected later.
//
// Two processes are linked when their lifetimes overlap by more than the clocks' error bound and,
// on one host, their restart counters are equal (unknown equals only unknown). Connected sets,
// ordered by their first start, are attempts 0, 1, 2, …; a set never has two processes of one rank,
// so a run that starts while the last one is still dying is an attempt of its own. When every
// process states a number, those numbers are the attempts. A process without an exit lives until a
// minute after it was last seen, as far as anything is known of the job: of a run that starts, each
// process is told once, at another moment. The order of the input does not matter.
std::vector<std::int32_t> compute_attempts(const std::vector<ProcessInfo>& processes);

}  // namespace logarithm::aggregator
