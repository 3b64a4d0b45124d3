#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace logarithm::config {

// How a program's reloads (SIGHUP) went, for its status, metrics and log. One thread.
struct ReloadState {
  // Of one reload; travels with every heartbeat of an agent.
  static constexpr std::size_t kMostProblems = 50;

  std::uint64_t succeeded = 0, failed = 0;
  bool last_failed = false;
  // Of the last one: why the former configuration stays, and the keys (as the file names them) that
  // it found changed and that only a start takes in.
  std::vector<std::string> problems, needs_restart;

  // `restart`: needs_restart of this one. Logs it. An error's message has a problem a line.
  void note(const Status& reloaded, std::vector<std::string> restart);
  // `program`: "agent" or "aggregator".
  std::string metrics_text(const std::string& program) const;
};

}  // namespace logarithm::config
