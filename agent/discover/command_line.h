#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace logarithm::agent {

inline constexpr std::size_t kMaxCommand = 4096;

// The arguments of /proc/PID/cmdline joined by blanks, at most kMaxCommand bytes of valid UTF-8.
// Values of arguments and assignments whose name speaks of a token, secret, password or key, and
// the password of a URL, are replaced by "[redacted]".
std::string redacted_command(std::string_view cmdline);

}  // namespace logarithm::agent
