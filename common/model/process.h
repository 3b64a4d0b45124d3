#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/types.h"

namespace logarithm {

// A GPU that a process holds.
struct Gpu {
  std::int32_t index = -1;
  std::string uuid;
  std::string pci;  // domain:bus:device
  bool operator==(const Gpu&) const = default;
};

// One process of a job as the agent saw it: the top-most of those with the same identity variables.
// Facts only; the attempt is computed from them (see aggregator/store/attempts.h).
struct ProcessInfo {
  std::string job;
  std::string host;
  std::int32_t pid = 0;
  UnixNanos start = 0;                      // from /proc/PID/stat and the boot time
  UnixNanos start_error = 0;                // half width of what is known, nanoseconds
  std::optional<UnixNanos> exit;            // absent while it lives
  UnixNanos exit_error = 0;                 // the exit was in (exit - exit_error, exit]
  std::optional<std::int32_t> exit_status;  // as waitpid gives it, where known
  UnixNanos last_seen = 0;
  std::optional<std::int32_t> rank, local_rank, group_rank, world_size;
  std::string rank_source;  // the variable, or "path", "wrapper"; empty when unknown
  std::string launcher;     // "torchrun", "slurm", "openmpi", "env", …
  std::optional<std::int32_t> restart_count;    // the launcher's own counter on this host
  std::optional<std::int32_t> stated_attempt;   // LOGARITHM_ATTEMPT or a path group
  std::map<std::string, std::string> identity;  // the identity variables and their values
  std::vector<Gpu> gpus;
  std::string container;
  std::string pod;  // uid of the Kubernetes pod, as in the cgroup's path
  std::string user;
  std::string command;                              // redacted, at most 4 KiB
  std::map<std::string, std::string> not_captured;  // "stdout" -> "pipe:[123]" and the like

  // "<host>/<pid>/<start>": the key of a process everywhere.
  std::string key() const;
  bool operator==(const ProcessInfo&) const = default;
};

}  // namespace logarithm
