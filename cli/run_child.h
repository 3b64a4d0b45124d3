#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/run_environment.h"
#include "cli/signal_state.h"
#include "common/base/result.h"

namespace logarithm::cli {

struct RunChildRequest {
  std::vector<std::string> command;  // found by PATH, as a shell does
  EnvironmentList environment;
  SignalState signals;     // what the command inherits
  int out = -1, err = -1;  // its stdout and stderr; -1: ours
};

// Starts the command in our own process group, so that the terminal's signals reach it as they
// would without us. Error: it could not be started (not_found: no such program).
Result<pid_t> start_child(const RunChildRequest& request);

// Becomes the command: returns only when that fails.
Error become_command(const RunChildRequest& request);

// Blocks the signals that are to be passed on, so that none is lost from here on: also those that
// were ignored when we started, as the command may handle them. It inherits what we did.
void hold_signals();

// Waits for its end, and passes signals on meanwhile; held before with hold_signals(). Stops when
// the terminal stopped the command. Its status as waitpid gives it.
Result<int> wait_for_child(pid_t child);

// As a shell says it: the exit code, 128 + n for a signal n.
int shell_status(int status);

}  // namespace logarithm::cli
