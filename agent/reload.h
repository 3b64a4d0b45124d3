#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/settings.h"
#include "common/base/types.h"

namespace logarithm::agent {

// Reads the configuration again; called on a thread that may block.
using SettingsSource = std::function<Result<Settings>()>;

// How the reloads (SIGHUP) went. io thread.
struct ReloadState {
  std::uint64_t succeeded = 0, failed = 0;
  bool last_failed = false;
  // Of the last one, for the aggregator's status: why the former configuration was kept, or what
  // needs a restart.
  std::vector<std::string> problems;
};

// One problem a line; bounded, since it travels with every heartbeat.
std::vector<std::string> describe_failure(const std::string& message);
std::string reload_metrics_text(const ReloadState& state);

}  // namespace logarithm::agent
