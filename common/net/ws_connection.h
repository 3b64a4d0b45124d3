#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "common/net/http.h"

// Makes WsConnections of both roles from connected sockets; the face of ws_connection.cpp.
namespace logarithm::net {

struct WsSettings {
  std::size_t max_message = 20u << 20;
  std::chrono::milliseconds handshake_timeout{10000};
  std::chrono::milliseconds idle_timeout{60000};  // pings at half of it; no answer: broken
  std::string peer;
};

// Server: answers the upgrade request whose head is `head` (to the empty line), echoing `protocol`
// unless empty.
boost::asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_accept(
    boost::asio::ip::tcp::socket socket, std::string head, std::string protocol,
    WsSettings settings);

// Client: asks for an upgrade at `url`, offering `protocol` unless empty, with `token` as bearer.
boost::asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_handshake(
    boost::asio::ip::tcp::socket socket, Url url, std::string protocol, std::string token,
    WsSettings settings);

}  // namespace logarithm::net
