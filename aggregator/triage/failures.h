#pragma once

#include <optional>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// A failure that somebody named: a rank, the kernel, a launcher. Also where all words are of
// others' faults, and the one that has none is to blame. nullopt when nothing failed.
std::optional<Candidate> find_failure(const Analysis& analysis);

// A failure that is in the lines and of nobody: a cause without a rank, a launcher's report of a
// child that cannot be told, a process that is no rank and ended with a status. Without ranks.
std::optional<Candidate> find_unnamed(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
