#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/api_client.h"
#include "cli/options.h"
#include "cli/private_server.h"
#include "cli/runner.h"

namespace CLI {
class App;
}

namespace logarithm::cli {

// --files and what goes with it: log files in place of a server's job.
struct FileOptions {
  std::vector<std::string> files;
  std::string path, tz, job;

  void add_to(CLI::App& app);
  // Error{invalid} for what says nothing without --files.
  Status check() const;
  bool used() const { return !files.empty(); }
};

// --files takes as many values as follow, and so also the LOGQL or LINE-ID behind them. Moves the
// values that name no file, from the second on, in front of `positionals`. Error{invalid} when the
// first one does not exist.
Status split_files(std::vector<std::string>& files, std::vector<std::string>& positionals,
                   const std::function<bool(const std::string&)>& exists);
bool file_exists(const std::string& path);

// Where a verb reads: the server of the options, or a private one that has read the files.
struct Source {
  ApiClient api;
  std::string job;                       // of the files, when there are some
  std::unique_ptr<PrivateServer> owned;  // null for the server of the options
};
Result<Source> open_source(Runner& runner, const Options& options, const FileOptions& files);

// The command that shows a line of what was read here, up to its id: "logarithm context", with
// whatever it needs to find the same place.
std::string context_command(const Options& options, const FileOptions& files);

// "/api/v1/jobs/<job>/<what>".
std::string job_path(const std::string& job, const std::string& what);

}  // namespace logarithm::cli
