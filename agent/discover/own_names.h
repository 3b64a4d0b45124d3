#pragma once

#include <string>
#include <vector>

namespace logarithm::agent {

// This host's name, with and without its domain, and the addresses of its interfaces (no loopback):
// what log lines of a cluster call it. Blocks; for the start.
std::vector<std::string> own_names();

}  // namespace logarithm::agent
