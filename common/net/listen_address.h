#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace logarithm::net {

// Where a server listens.
struct ListenAddress {
  std::string host;  // an IP address, without brackets
  std::uint16_t port = 0;
  bool loopback = false;  // only programs of this host reach it
};

// "127.0.0.1:7400", "[::1]:0", "localhost:7400". Error{invalid} says what to write instead: of a
// host's name nobody knows which of its addresses is meant.
Result<ListenAddress> parse_listen(const std::string& text);

}  // namespace logarithm::net
