#pragma once

#include <chrono>

#include "common/net/http.h"

namespace logarithm::cli {

// How long to wait before asking again: a second, and so long that the answers take no more than
// 1/60 of one of the server's cores, as far as it says what this one took (Server-Timing: cpu).
std::chrono::milliseconds pause_after(const net::Headers& answer);

}  // namespace logarithm::cli
