#pragma once

#include <optional>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// The first rank and iteration whose loss or norm became NaN and stayed so. An all-reduce spreads a
// NaN to all ranks in the same iteration: the number that became NaN on the fewest ranks tells
// where it came from.
std::optional<Candidate> find_nan(const Analysis& analysis);

// Numbers that were the same on all ranks in every iteration until one rank's departed.
std::optional<Candidate> find_corruption(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
