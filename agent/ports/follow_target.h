#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/types.h"
#include "common/model/process.h"
#include "common/wire/frame.h"

// What `discover` tells `follow`. Plain data.
namespace logarithm::agent {

// One entry of `files:` in the configuration. `path` is RE2 on the whole path; its groups job,
// attempt, host, rank, local_rank and stream become attributes; `job` is a constant.
struct FilePattern {
  std::string glob;
  std::string job;
  std::string path;
};

// A file that should be followed, and what is known about who writes it.
struct FollowTarget {
  std::string path;       // where it lies (may be deleted meanwhile)
  std::string open_path;  // what to open: `path`, or <proc-root>/PID/fd/N
  std::string job;        // never empty
  std::string process;    // ProcessInfo::key() of the writer, empty when unknown
  std::optional<std::int32_t> attempt, rank, local_rank;  // attempt only when stated
  std::string rank_source;
  std::string host;
  std::string name;  // "stdout", "stderr", "kernel", else the path
  std::vector<std::string> aliases;
  std::map<std::string, std::string> labels;  // what else the path says
  std::optional<std::int32_t> utc_offset_minutes;
  std::string import_base;  // for --files and import: relative path that names the base
  bool shared = false;      // processes of different ranks write it: process and rank are absent
  std::vector<std::string> holders;  // … and these are their keys, by start: all of one attempt
  bool slurm_step = false;  // a writer has SLURM_PROCID, or the name is that of a Slurm step's file

  bool operator==(const FollowTarget&) const = default;
};

// One scan's result. `targets` is the whole list, in a stable order; `processes` are those that are
// new or changed since the last scan.
struct Discovered {
  std::vector<FollowTarget> targets;
  std::vector<ProcessInfo> processes;
  std::vector<wire::NotCaptured> not_captured;  // the whole list
};

}  // namespace logarithm::agent
