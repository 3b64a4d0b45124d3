#pragma once

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/async/task_group.h"
#include "common/net/client.h"
#include "common/net/http_server.h"
#include "tests/support/run_coro.h"

namespace logarithm::net::test {

namespace asio = boost::asio;
using asio::ip::tcp;

// A handler made of functions; by default it tells what it was asked.
class TestHandler : public HttpHandler {
 public:
  asio::awaitable<Response> handle(Request request) override {
    if (on_handle) return on_handle(std::move(request));
    return echo(std::move(request));
  }
  std::optional<Response> check_websocket(const Request& request) override {
    return on_check ? on_check(request) : std::nullopt;
  }
  asio::awaitable<void> websocket(Request, std::shared_ptr<WsConnection> connection) override {
    return on_websocket ? on_websocket(std::move(connection)) : echo_all(std::move(connection));
  }

  static asio::awaitable<Response> echo(Request request) {
    Response response;
    response.content_type = "text/plain";
    response.body = request.method + " " + request.path;
    for (const auto& [key, value] : request.query) response.body += " " + key + "=" + value;
    if (!request.body.empty()) response.body += " " + request.body;
    co_return response;
  }
  static asio::awaitable<void> echo_all(std::shared_ptr<WsConnection> connection) {
    for (;;) {
      auto message = co_await connection->receive();
      if (!message.ok()) co_return;
      Status sent = co_await connection->send(std::move(*message));
      if (!sent.ok()) co_return;
    }
  }

  std::function<asio::awaitable<Response>(Request)> on_handle;
  std::function<std::optional<Response>(const Request&)> on_check;
  std::function<asio::awaitable<void>(std::shared_ptr<WsConnection>)> on_websocket;
};

// A server and its clients in one io_context on a port of the system's choice.
class Loopback {
 public:
  explicit Loopback(HttpServerOptions options = HttpServerOptions()) {
    auto listening = HttpServer::listen(io, std::move(options), handler);
    REQUIRE(listening.ok());
    server = std::move(*listening);
  }

  Url url(const std::string& scheme, const std::string& path) const {
    return parse_url(scheme + "://127.0.0.1:" + std::to_string(server->port()) + path).value();
  }

  // Runs `client` against the server, stops the server and runs everything to its end. An outer
  // deadline only keeps a hang from holding the suite.
  void run(asio::awaitable<void> client,
           std::chrono::milliseconds grace = std::chrono::milliseconds(200)) {
    TaskGroup group(io.get_executor());
    group.spawn("server", server->run());
    group.spawn("client", then_stop(std::move(client), grace));
    io.run_for(std::chrono::seconds(60));
    REQUIRE(group.size() == 0);
    Status status = logarithm::test::run_coro(io, group.join());
    CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message()));
  }

  // A raw connection that sends `text` and reads to the end of the stream.
  asio::awaitable<std::string> raw(std::string text) {
    tcp::socket socket = co_await dial();
    co_await asio::async_write(socket, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
    co_return co_await read_all(socket);
  }
  asio::awaitable<tcp::socket> dial() {
    tcp::socket socket(io);
    const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), server->port());
    co_await socket.async_connect(endpoint, asio::use_awaitable);
    co_return std::move(socket);
  }
  static asio::awaitable<std::string> read_all(tcp::socket& socket) {
    std::string out;
    auto buffer = asio::dynamic_buffer(out);
    co_await asio::async_read(socket, buffer, asio::as_tuple(asio::use_awaitable));
    co_return out;
  }

  asio::io_context io;
  TestHandler handler;
  std::unique_ptr<HttpServer> server;

 private:
  asio::awaitable<void> then_stop(asio::awaitable<void> client, std::chrono::milliseconds grace) {
    co_await std::move(client);
    server->stop(grace);
  }
};

}  // namespace logarithm::net::test
