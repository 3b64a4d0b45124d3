#pragma once

#include <optional>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// Ranks whose processes ended with a status or by a signal, as `logarithm run` saw it, without a
// word of their own: the first of them, and those that may have been as early. Not those that
// outlived what others complain of, nor those that were told to stop.
std::optional<Candidate> find_exit(const Analysis& analysis);

// The same of a process that is no rank: a launcher, or the only one of its job. Without ranks.
std::optional<Candidate> find_unranked_exit(const Analysis& analysis);

// It did not end in order, by its process's status.
bool ended_badly(const RankFacts& rank);

// It lives, or did when the others gave up.
bool outlived(const RankFacts& rank, const std::vector<const Outcome*>& cascade);

}  // namespace logarithm::aggregator::triage
