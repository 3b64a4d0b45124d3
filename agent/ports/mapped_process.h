#pragma once

#include <string>

#include "common/line/line.h"

namespace logarithm::agent {

// What a line said of a process (a rule with `maps: process`), from `follow` to `discover`.
struct MappedProcess {
  ProcessMapping mapping;
  std::string writer;  // ProcessInfo::key() of the process that wrote the line; may be empty
  std::string job;     // of the line
};

}  // namespace logarithm::agent
