#pragma once

#include <string>
#include <string_view>

namespace logarithm::agent {

// The effective uid in the bytes of /proc/PID/status, as digits; empty when there is none.
std::string effective_uid(std::string_view status);

// The user's name from `passwd`, or the uid itself. The file is read directly: the name service may
// ask a network that hangs.
std::string user_of(const std::string& uid, const std::string& passwd = "/etc/passwd");

}  // namespace logarithm::agent
