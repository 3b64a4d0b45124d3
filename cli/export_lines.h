#pragma once

#include <string>

#include "cli/api_client.h"
#include "cli/options.h"

namespace logarithm::cli {

// Writes all lines of `path` that `params` pick to stdout as NDJSON, the oldest first, page by page
// from `cursor` (empty: the start). A page is written when all of it has come, so that after a
// failure the cursor in the message goes on exactly behind what was written. Returns the exit
// status.
int export_lines(ApiClient& api, const std::string& path, const Params& params, std::string cursor,
                 const Options& options);

}  // namespace logarithm::cli
