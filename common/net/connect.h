#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>

#include "common/base/result.h"

namespace logarithm::net {

// Resolves `host` (a name or an address without brackets) and connects to the first address that
// answers. Error{unavailable} or {timeout} names host, port and reason.
boost::asio::awaitable<Result<boost::asio::ip::tcp::socket>> connect(
    std::string host, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace logarithm::net
