#include <doctest/doctest.h>

#include "tests/unit/common/net/loopback.h"

namespace logarithm::net {
namespace {

using namespace test;  // NOLINT

// A port on which nobody listens.
std::uint16_t closed_port(asio::io_context& io) {
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

// Accepts one connection and answers it with `text`, whatever is asked.
asio::awaitable<void> serve_raw(tcp::acceptor& acceptor, std::string text) {
  tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
  std::string asked;
  auto buffer = asio::dynamic_buffer(asked);
  co_await asio::async_read_until(socket, buffer, "\r\n\r\n", asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<Result<Response>> get(Url url, ClientOptions options) {
  return http_request(std::move(url), "GET", Headers(), std::string(), std::move(options));
}

Result<Response> ask_raw_server(std::string text, ClientOptions options = ClientOptions()) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  TaskGroup group(io.get_executor());
  group.spawn("server", serve_raw(acceptor, std::move(text)));
  Url url =
      parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())).value();
  auto answer = logarithm::test::run_coro(io, get(std::move(url), std::move(options)));
  REQUIRE(group.size() == 0);
  return answer;
}

}  // namespace

TEST_CASE("http_request: method, path, headers, token and body arrive") {
  Loopback loop;
  std::string authorization, kind;
  loop.handler.on_handle = [&](Request request) {
    authorization = find_header(request.headers, "authorization").value_or("");
    kind = find_header(request.headers, "x-kind").value_or("");
    CHECK(request.peer.starts_with("127.0.0.1:"));
    return TestHandler::echo(std::move(request));
  };
  auto client = [&]() -> asio::awaitable<void> {
    Headers headers;
    headers.emplace_back("X-Kind", "test");
    ClientOptions options;
    options.token = "secret";
    auto answer = co_await http_request(loop.url("http", "/a?b=c"), "POST", std::move(headers),
                                        "the body", std::move(options));
    REQUIRE(answer.ok());
    CHECK(answer->status == 200);
    CHECK(answer->content_type == "text/plain");
    CHECK(answer->body == "POST /a b=c the body");
  };
  loop.run(client());
  CHECK(authorization == "Bearer secret");
  CHECK(kind == "test");
}

TEST_CASE("http_request: a refused connection names host, port and reason") {
  asio::io_context io;
  const std::string port = std::to_string(closed_port(io));
  auto answer = logarithm::test::run_coro(
      io, get(parse_url("http://localhost:" + port).value(), ClientOptions()));

  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().to_string() ==
        "unavailable: connect to localhost:" + port + ": Connection refused");
}

TEST_CASE("http_request: an answer over the limit is too_large") {
  ClientOptions options;
  options.max_message = 10;
  auto answer = ask_raw_server("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nabcdefghijk", options);

  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::too_large);
}

TEST_CASE("http_request: garbage and torn answers are errors") {
  CHECK(ask_raw_server("SSH-2.0-OpenSSH\r\n\r\n").error().code() == ErrorCode::corrupt);
  CHECK(ask_raw_server("").error().code() == ErrorCode::unavailable);
  CHECK(ask_raw_server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab").error().code() ==
        ErrorCode::unavailable);
  CHECK(ask_raw_server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
            .error()
            .code() == ErrorCode::unavailable);
}

TEST_CASE("http_request: a body that ends with the connection is read") {
  CHECK(ask_raw_server("HTTP/1.1 200 OK\r\n\r\nto the end").value().body == "to the end");
}

TEST_CASE("http_request: a server that says nothing is a timeout") {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  ClientOptions options;
  options.idle_timeout = std::chrono::milliseconds(20);
  Url url =
      parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())).value();

  auto answer = logarithm::test::run_coro(io, get(std::move(url), std::move(options)));

  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::timeout);
}

TEST_CASE("http_request: a line break in a header is refused") {
  asio::io_context io;
  ClientOptions options;
  options.token = "a\r\nX: y";

  auto answer = logarithm::test::run_coro(io, get(parse_url("http://h").value(), options));

  CHECK(answer.error().code() == ErrorCode::invalid);
}

TEST_CASE("http_stream: the body of a refusal is returned, not streamed") {
  Loopback loop;
  loop.handler.on_handle = [](Request) -> asio::awaitable<Response> {
    Response response;
    response.status = 404;
    response.body = "{\"detail\":\"no such job\"}";
    co_return response;
  };
  auto client = [&]() -> asio::awaitable<void> {
    bool called = false;
    auto sink = [&called](std::string_view) {
      called = true;
      return true;
    };
    auto answer = co_await http_stream(loop.url("http", "/"), Headers(), ClientOptions(), sink);
    REQUIRE(answer.ok());
    CHECK(answer->status == 404);
    CHECK(answer->body == "{\"detail\":\"no such job\"}");
    CHECK_FALSE(called);
  };
  loop.run(client());
}

}  // namespace logarithm::net
