#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "common/net/http.h"

namespace logarithm::net {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::size_t max_connections = 4096;
  std::size_t max_body = 8u << 20;
  std::size_t max_header = 64u << 10;
  std::size_t max_message = 20u << 20;              // WebSocket
  std::string websocket_protocol = "logarithm.v1";  // offered when the client asks for it
  std::chrono::seconds idle_timeout{60};
};

struct HttpServerStats {
  std::uint64_t connections = 0, open = 0, requests = 0;
  std::uint64_t refused = 0;    // over max_connections: 503
  std::uint64_t too_large = 0;  // over max_body or max_header: 413, 431
  std::uint64_t malformed = 0;  // 400
  std::uint64_t timeouts = 0;   // idle or too slow
  std::uint64_t abandoned = 0;  // the client left before its answer had ended
  std::uint64_t websockets = 0;
};

// HTTP/1.1 with keep-alive, chunked streaming, WebSocket upgrade. A client that closes its socket
// while its answer is being made is noticed: the body stream is told and destroyed. Lives on one
// io_context; call from its thread.
class HttpServer {
 public:
  // Binds and listens; Error names address and port.
  static Result<std::unique_ptr<HttpServer>> listen(boost::asio::io_context& io,
                                                    HttpServerOptions options,
                                                    HttpHandler& handler);
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  virtual std::string address() const = 0;
  virtual HttpServerStats stats() const = 0;
  // Accepts until stop(); owns all connections.
  virtual boost::asio::awaitable<void> run() = 0;
  // Stops accepting, lets answers end for `grace`, then cuts; run() then returns.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace logarithm::net
