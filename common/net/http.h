#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

// Plain HTTP and WebSocket types, free of Beast. Adapters: http_server.cpp, ws_server.cpp,
// http_client.cpp, ws_client.cpp.
namespace logarithm::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Value of the first header `name` (ASCII case-insensitive).
std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);

struct Request {
  std::string method;                                      // "GET"
  std::string path;                                        // percent-decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  std::string body;
  std::string peer;  // "127.0.0.1:5123"

  std::optional<std::string_view> param(std::string_view name) const;  // the first one
};

// A body made piece by piece. next() gives the next piece, nullopt at the end. The server destroys
// the stream when the client leaves; `abandoned()` is called first, from the server's thread, and
// must make a pending next() end soon.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  virtual boost::asio::awaitable<Result<std::optional<std::string>>> next() = 0;
  virtual void abandoned() = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
  std::shared_ptr<BodyStream> stream;  // when set, sent chunked in place of `body`
};

// One WebSocket, either side. One send() and one receive() may be pending at once; close() and
// cancel() may be called at any time. Must be used on the executor that made it.
class WsConnection {
 public:
  virtual ~WsConnection() = default;
  virtual boost::asio::awaitable<Status> send(std::string message) = 0;  // binary
  virtual boost::asio::awaitable<Status> send_text(std::string message) = 0;
  // Error{cancelled} after a clean close by the peer or cancel(); Error{unavailable} for a broken
  // connection; Error{too_large} past the message limit.
  virtual boost::asio::awaitable<Result<std::string>> receive() = 0;
  // Polite close within a short deadline, then the socket is cut.
  virtual boost::asio::awaitable<void> close(std::string reason) = 0;
  virtual void cancel() = 0;  // cuts the socket now
  virtual std::string peer() const = 0;
};

// What a server calls. All on the server's io_context.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual boost::asio::awaitable<Response> handle(Request request) = 0;
  // Asked for an upgrade request before it is accepted: nullopt accepts (and websocket() follows),
  // a Response refuses.
  virtual std::optional<Response> check_websocket(const Request& request) = 0;
  virtual boost::asio::awaitable<void> websocket(Request request,
                                                 std::shared_ptr<WsConnection> connection) = 0;
};

// "host:port" of an http:// or ws:// URL, and its path.
struct Url {
  std::string scheme, host;
  std::uint16_t port = 0;
  std::string path;  // "/" at least
};
Result<Url> parse_url(std::string_view text);
std::string percent_encode(std::string_view text);  // all but unreserved characters

}  // namespace logarithm::net
