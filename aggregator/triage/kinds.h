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

}  // namespace logarithm::aggregator::triage
