#pragma once

#include <string>

#include "cli/api_client.h"
#include "cli/filters.h"
#include "cli/options.h"

namespace logarithm::cli {

// Writes the exact bytes of the streams that `filters` pick: one after the other to stdout, or with
// `directory` (unless empty) each into a file of its own there. A file is complete when it has its
// name; until then it ends in ".part", and a second run goes on behind it. Returns the exit status:
// 1 also when bytes were left out, which is said.
int export_raw(ApiClient& api, const std::string& job, const Filters& filters,
               const Params& stream_params, const std::string& directory, const Options& options);

}  // namespace logarithm::cli
