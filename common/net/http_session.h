#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "common/net/http.h"
#include "common/net/http_server.h"

namespace logarithm::net {

// What a session shares with its server, which outlives it.
struct SessionHost {
  HttpHandler& handler;
  HttpServerOptions options;
  HttpServerStats stats;
  bool stopping = false;
};

// One accepted connection: requests one after the other, or a WebSocket.
class HttpSession {
 public:
  static std::shared_ptr<HttpSession> make(boost::asio::ip::tcp::socket socket, SessionHost& host);
  virtual ~HttpSession() = default;

  // Serves until either side ends it. Whoever awaits this keeps the session alive.
  virtual boost::asio::awaitable<void> run() = 0;
  // In place of run(): answers 503 and hangs up.
  virtual boost::asio::awaitable<void> turn_away() = 0;

  // First phase of a stop: a connection without a request closes, an answer may end.
  virtual void wind_down() = 0;
  // Second phase: everything that the session waits for fails now.
  virtual void cut() = 0;
  // The polite close of a WebSocket, for the server to await; null when there is none.
  virtual std::shared_ptr<WsConnection> websocket() const = 0;
};

}  // namespace logarithm::net
