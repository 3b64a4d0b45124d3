#pragma once

#include <optional>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// Somebody from outside ended the job in order: the scheduler says so, or most ranks were told to
// stop and none of them (nor a launcher) names a failure before that.
std::optional<Candidate> find_preemption(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
