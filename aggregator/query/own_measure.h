#pragma once

#include <string_view>

namespace logarithm::aggregator {

// Names of what is measured on each rank for itself (times, rates, memory), which nobody expects to
// agree: chance may let them for a while.
bool is_own_measure(std::string_view key);

}  // namespace logarithm::aggregator
