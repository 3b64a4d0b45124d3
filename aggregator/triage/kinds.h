#pragma once

#include <string>

#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {

// Of several root events the one that says more: hardware before what it does to programs, a named
// resource before the exception that carries it.
int weight_of(const std::string& kind);

// A root event that only tells that others are missing, or that somebody from outside ended it.
bool is_symptom(const EventFact& event);

// What machines say, not programs: explains a failure on its host, and is none by itself.
bool is_hard(const EventFact& event);

// Of these, what no job goes on after: the GPU, the memory or the node is gone for it. The rest may
// well be survived, or is a program's own fault (Xid 13, 31, 43, 45).
bool is_fatal(const EventFact& event);

}  // namespace logarithm::aggregator::triage
