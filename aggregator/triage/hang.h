#pragma once

#include <optional>
#include <vector>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// All ranks are quiet for longer than this phase explains, and none has ended: who they wait for.
// Without an absolute threshold: the quiet time is measured by the job's own steps. A candidate
// without ranks: they hang, and nothing tells one from the others.
std::optional<Candidate> find_hang(const Analysis& analysis);

// Ranks that ended early, while the others went on or wait for them, and nobody says a word of it.
std::optional<Candidate> find_lost(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
