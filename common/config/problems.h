#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace logarithm::config {

// One thing that is wrong in a configuration file.
struct Problem {
  std::string file;
  std::size_t line = 0;  // from 1; 0 when it belongs to no line (a missing file)
  std::string path;      // "spool.max_bytes", "files[2].glob"; empty for the document itself
  std::string what;

  // "agent.yaml:12: spool.max_bytes: must be at least 1MiB"
  std::string to_string() const {
    std::string out = file;
    if (line != 0) out += ":" + std::to_string(line);
    out += ": ";
    if (!path.empty()) out += path + ": ";
    return out + what;
  }
};

// All of them, in the order in which they were found.
using Problems = std::vector<Problem>;

// One a line, each ended by '\n': what --check-config prints before it exits 78.
inline std::string to_string(const Problems& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.to_string() + "\n";
  return out;
}

}  // namespace logarithm::config
