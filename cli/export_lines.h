#pragma once

#include <cstdint>
#include <string>

#include "cli/api_client.h"
#include "cli/options.h"

namespace logarithm::cli {

struct ExportPaging {
  std::string direction = "forward";
  std::string cursor;       // empty: from the start
  std::uint64_t limit = 0;  // of lines; 0: all
};

// Writes the lines of `path` that `params` pick to stdout as NDJSON, page by page. A page is
// written when all of it has come, so that after a failure, or at the limit, the cursor in the
// message goes on exactly behind what was written. Returns the exit status.
int export_lines(ApiClient& api, const std::string& path, const Params& params, ExportPaging paging,
                 const Options& options);

}  // namespace logarithm::cli
