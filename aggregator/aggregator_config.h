#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/http/auth.h"
#include "aggregator/store/retention.h"
#include "common/base/log_threshold.h"
#include "common/base/result.h"
#include "common/config/origins.h"
#include "common/config/problems.h"

namespace logarithm::aggregator {

// Everything that can be configured, with its defaults; config/aggregator.example.yaml shows it.
struct AggregatorConfig {
  std::string listen = "127.0.0.1:7400";
  std::string data_dir = "/var/lib/logarithm/aggregator";
  std::string ready_file;  // gets "host:port" when serving; none when empty
  std::vector<TokenGrant> tokens;

  struct Query {
    std::chrono::nanoseconds deadline = std::chrono::seconds(30);
    std::uint64_t max_concurrent = 32;
    std::uint64_t memory = 256u << 20;  // decoded lines of one query, bytes
  } query;

  struct Store {
    std::uint64_t min_free = 2ull << 30;    // below it blocks are refused, bytes
    std::uint64_t part_bytes = 4ull << 30;  // a shard is rolled at this size
    std::chrono::nanoseconds part_age = std::chrono::hours(24 * 7);  // … or this old
  } store;

  RetentionLimits retention;  // nothing is unlinked by default
  LogThreshold log_level = LogThreshold::info;

  config::Origins origins;  // where each of these was given
};

// Reads a file over `config`. Error: unreadable or not YAML; else `problems` has what is wrong in
// it. Blocks; for main().
Status load_config(const std::string& file, AggregatorConfig& config, config::Problems& problems);

// What is wrong with the whole, after the command line was put over the file. Blocks.
config::Problems validate(const AggregatorConfig& config);

// The effective configuration as YAML that load_config() reads; tokens are masked.
std::string print_config(const AggregatorConfig& config);

}  // namespace logarithm::aggregator
