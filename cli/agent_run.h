#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/runner.h"
#include "common/base/result.h"

namespace logarithm::cli {

// What a one-shot agent reads.
struct ImportRequest {
  std::string job;
  std::vector<std::string> roots;  // existing files and directories
  std::string path;                // RE2 with named groups; empty: the shipped shapes
  std::string tz;                  // of times without a zone; empty: the agent's default
};

// The job's name when none was given: the directory's, or the first file's without its extension.
std::string default_job(const std::string& root);

// The agent's configuration for this: nothing but the import.
std::string agent_config(const ImportRequest& request, const std::string& aggregator,
                         const std::string& state_dir, const std::string& token);

// Runs `logarithm-agent --once` against `aggregator` (ws://…) with its files under `work_dir`, and
// waits. Returns its summary; Error carries the end of its log when it fails.
Result<std::string> run_agent(Runner& runner, const Options& options, const ImportRequest& request,
                              const std::string& aggregator, const std::string& work_dir,
                              Progress& progress);

// Error{not_found} when a summary says that there was no file to read.
Status found_files(const std::string& summary, const ImportRequest& request);

// Which of our options an agent's reasons not to start are about, and what is wrong with it.
std::optional<std::string> option_at_fault(const std::string& reasons);

// The part of a summary that says what was left out; empty when nothing was.
std::string left_out(const std::string& summary);

// The last `most` bytes of a file, from a line's start; empty when it cannot be read.
std::string end_of_file(const std::string& file, std::size_t most);

}  // namespace logarithm::cli
