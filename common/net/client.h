#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/net/http.h"

namespace logarithm::net {

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds idle_timeout{60000};  // no byte for so long: Error{timeout}
  std::size_t max_message = 20u << 20;
  std::string token;  // sent as "Authorization: Bearer"
};

// One request, whole answer (at most `max_body` bytes).
boost::asio::awaitable<Result<Response>> http_request(Url url, std::string method, Headers headers,
                                                      std::string body, ClientOptions options);

// The same, giving the body to `sink` as it arrives (for a status of 200; other bodies are
// returned). `sink` returns false to stop.
boost::asio::awaitable<Result<Response>> http_stream(Url url, Headers headers,
                                                     ClientOptions options,
                                                     std::function<bool(std::string_view)> sink);

// Connects, upgrades with subprotocol `protocol`. Error{unavailable} names host, port and reason;
// Error{invalid} when the server refuses with 4xx (the body's detail is in the message).
boost::asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_connect(Url url,
                                                                         std::string protocol,
                                                                         ClientOptions options);

}  // namespace logarithm::net
