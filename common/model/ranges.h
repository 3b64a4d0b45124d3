#pragma once

#include <vector>

#include "common/base/types.h"

namespace logarithm {

// Ascending, without empty ones; overlapping and touching ranges become one.
std::vector<Range> merged(std::vector<Range> ranges);
// What of `from` lies in no range of `what`; both in any order, the result merged.
std::vector<Range> without(std::vector<Range> from, std::vector<Range> what);

}  // namespace logarithm
