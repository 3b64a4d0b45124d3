#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/ports/follow_target.h"
#include "common/base/log_threshold.h"
#include "common/base/result.h"
#include "common/config/origins.h"
#include "common/config/problems.h"

namespace logarithm::agent {

// Everything that can be configured, with its defaults; config/agent.example.yaml shows it.
struct AgentConfig {
  std::string aggregator = "ws://127.0.0.1:7400";
  std::string token;
  std::string state_dir = "/var/lib/logarithm-agent";
  std::string proc_root = "/proc";
  std::string host;                        // empty: the host's name
  std::string metrics = "127.0.0.1:7401";  // "off": none
  bool once = false;                       // read to the end, ship, exit
  bool give_way = true;                    // to the jobs, where there is not enough CPU for all
  LogThreshold log_level = LogThreshold::info;

  struct Spool {
    std::uint64_t max_bytes = 1ull << 30;
    std::uint64_t segment_bytes = 8ull << 20;
    std::uint64_t min_free = 64ull << 20;  // left free on the disk
  } spool;

  struct Discover {
    bool processes = true;   // default: false with `import`
    bool runs = true;        // follow what `logarithm run` of this user keeps; as above
    bool kernel_log = true;  // /dev/kmsg; as above
    std::chrono::nanoseconds poll = std::chrono::milliseconds(100);
  } discover;

  std::vector<FilePattern> files;
  std::vector<std::string> rules;  // rule files beside the shipped packs

  struct Import {
    std::string job;
    std::vector<std::string> roots;
    std::string path;  // RE2 on the path
    std::string tz;    // zone of times without one
  };
  std::optional<Import> import;

  config::Origins origins;  // where each of these was given
};

// Reads a file over `config`. Error: unreadable or not YAML; else `problems` has what is wrong in
// it. Blocks; for main().
Status load_config(const std::string& file, AgentConfig& config, config::Problems& problems);

// What is wrong with the whole, after the command line was put over the file.
config::Problems validate(const AgentConfig& config);

// The effective configuration as YAML that load_config() reads; the token is masked.
std::string print_config(const AgentConfig& config);

}  // namespace logarithm::agent
