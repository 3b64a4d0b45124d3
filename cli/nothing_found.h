#pragma once

#include <string>

#include "cli/source.h"

namespace logarithm::cli {

// Says on stderr that nothing matched, and what the job has: a filter for an attempt or a rank that
// does not exist looks like an empty answer. `what`: "lines", "points of loss".
void say_nothing_found(Source& source, const std::string& job, const std::string& what);

}  // namespace logarithm::cli
