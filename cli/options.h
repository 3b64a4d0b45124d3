#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/signal_state.h"
#include "common/base/result.h"
#include "common/config/problems.h"
#include "common/net/http.h"

namespace logarithm::cli {

// Exit codes of all our programs.
inline constexpr int kExitOk = 0, kExitFailure = 1, kExitUsage = 64, kExitConfig = 78;

enum class Output { text, json, ndjson, raw };
Result<Output> parse_output(const std::string& word);

// What holds for every verb; flags win over the environment, that over the configuration file.
struct Options {
  std::string server = "http://127.0.0.1:7400";
  std::string token;
  std::string output = "text";
  bool output_stated = false;  // for this command, not by the file for all
  bool colour = false;         // stdout is a terminal (and NO_COLOR is not set)
  bool shown = false;          // stdout is a terminal
  bool terminal = false;       // stderr is one: progress may redraw its line
  std::size_t columns = 80;    // of the terminal, for plots
  std::string programs;        // the directory of the sibling programs
  // For `run`, whose command is to be as if we were not there.
  std::vector<std::string> environment;  // NAME=value
  SignalState signals;
};

// Reads `server`, `token` and `output` from `file` into `options`. The Error is for a file that
// cannot be read at all; wrong values are in the Problems.
Result<config::Problems> load_config(const std::string& file, Options& options);

// The output of a verb that has only one, `own`. Error{invalid} when the command line states
// another: nothing that is asked for is passed over.
Status check_only_output(const Options& options, const std::string& verb, const std::string& own);

// The effective configuration as YAML, the token masked.
std::string describe(const Options& options);

}  // namespace logarithm::cli
