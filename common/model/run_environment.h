#pragma once

#include <string_view>

// What `logarithm run` says to agents in the environment of its own processes. The command that it
// runs has none of it.
namespace logarithm::run_environment {

// The directory of its files. A `logarithm run` without it has not chosen them yet: it is about to
// exec itself, with the job's name in its environment.
inline constexpr std::string_view kFiles = "LOGARITHM_RUN_FILES";
// Where the output is shown, as two descriptors ("10 11"): those that were standard output and
// error before. From the moment that a process says whose job it is, these two are its files.
inline constexpr std::string_view kShown = "LOGARITHM_RUN_SHOWN";
// In the process that a short run leaves behind for agents to see: when that run began, in clock
// ticks since boot (/proc/PID/stat, field 22). Both are one process of the job.
inline constexpr std::string_view kHolder = "LOGARITHM_RUN_HOLDER";

// In the directory of its files, once the command has ended: a decimal number, as waitpid gives it.
// `run` writes it before it ends itself. Hidden, so that nobody takes it for a log.
inline constexpr std::string_view kStatusFile = ".exit-status";

}  // namespace logarithm::run_environment
