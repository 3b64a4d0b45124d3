#pragma once

#include <optional>
#include <string>

namespace logarithm::aggregator::triage {

// Nanoseconds of one unit of a number that is a time by its name ("fwd_bwd_ms", "data_s"); nullopt
// for all others.
std::optional<double> time_unit(const std::string& key);

}  // namespace logarithm::aggregator::triage
