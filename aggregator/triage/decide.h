#pragma once

#include "aggregator/triage/facts.h"
#include "aggregator/triage/verdict.h"

namespace logarithm::aggregator::triage {

// The verdict on an attempt. A pure function of the facts. See README.md for the procedure.
Verdict decide(const Facts& facts);

}  // namespace logarithm::aggregator::triage
