#pragma once

#include <vector>

#include "aggregator/triage/clocks.h"
#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {

// How a rank's part in the attempt went, by its own lines.
enum class End : std::uint8_t {
  going,       // it lives, or nothing says otherwise
  finished,    // it said what its peers said last, and nothing bad after it
  root,        // it named a cause
  cascade,     // it named another's fault: connection closed, time-out
  terminated,  // it was told to stop
  wordless     // it ended, or is silent while others broke, without a word
};

struct Outcome {
  const RankFacts* rank = nullptr;
  End end = End::going;
  const EventFact* cause = nullptr;  // of root, cascade, terminated: the first one that counts
  Span when;                         // of it: when it failed, or was last heard of
};

// One for each rank, in the order of facts.ranks. An event counts when its rank did not go on after
// it: said no further iteration and did not end as its peers did. What a job survives is no
// failure, however it is worded.
std::vector<Outcome> outcomes_of(const Facts& facts, const Clocks& clocks);

// The job went on after the event: a barrier lets nobody pass whom a rank left.
bool job_went_on(const Facts& facts, const Clocks& clocks, const EventFact& event);

// The newest line of a rank that is no part of a failure; nullptr when its tail has none.
const TailLine* last_normal(const RankFacts& rank);

}  // namespace logarithm::aggregator::triage
