#include "common/net/http_server.h"

#include <doctest/doctest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "tests/unit/common/net/loopback.h"

namespace logarithm::net {
namespace {

using namespace test;  // NOLINT

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

asio::awaitable<void> expect_raw(Loopback& loop, std::string request, std::string status,
                                 std::string part) {
  const std::string answer = co_await loop.raw(std::move(request));
  CHECK(status_line(answer) == status);
  CHECK_MESSAGE(answer.find(part) != std::string::npos, answer);
}

// Pieces as fast as they are taken, until told that nobody listens; then next() ends.
class EndlessStream final : public BodyStream {
 public:
  EndlessStream(asio::io_context& io, std::size_t pieces, int& abandoned, int& destroyed)
      : woken_(io, asio::steady_timer::time_point::max()),
        left_(pieces),
        abandoned_(abandoned),
        destroyed_(destroyed) {}
  ~EndlessStream() override { ++destroyed_; }

  asio::awaitable<Result<std::optional<std::string>>> next() override {
    if (left_ == 0) {  // a live stream: more may come, some day
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await woken_.async_wait(asio::as_tuple(asio::use_awaitable));
      co_return Error(ErrorCode::cancelled, "abandoned");
    }
    --left_;
    co_return std::optional<std::string>(std::string(1000, 'x') + "\n");
  }
  void abandoned() override {
    ++abandoned_;
    woken_.cancel();
  }

 private:
  asio::steady_timer woken_;
  std::size_t left_;
  int& abandoned_;
  int& destroyed_;
};

class ListStream final : public BodyStream {
 public:
  explicit ListStream(std::vector<std::string> pieces, bool fails = false)
      : pieces_(std::move(pieces)), fails_(fails) {}
  asio::awaitable<Result<std::optional<std::string>>> next() override {
    if (at_ < pieces_.size()) co_return std::optional<std::string>(pieces_[at_++]);
    if (fails_) co_return Error(ErrorCode::timeout, "too slow");
    co_return std::optional<std::string>();
  }
  void abandoned() override {}

 private:
  std::vector<std::string> pieces_;
  std::size_t at_ = 0;
  bool fails_;
};

asio::awaitable<Response> respond_with(std::shared_ptr<BodyStream> stream) {
  Response response;
  response.content_type = "application/x-ndjson";
  response.stream = std::move(stream);
  co_return response;
}

}  // namespace

TEST_CASE("HttpServer: several requests on one connection, pipelined, are answered in order") {
  Loopback loop;
  const std::string text =
      "GET /a%20b?x=1&y=%26 HTTP/1.1\r\nHost: h\r\n\r\n"
      "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
      "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  auto client = [&]() -> asio::awaitable<void> {
    const std::string answer = co_await loop.raw(text);
    const auto first = answer.find("GET /a b x=1 y=&");
    const auto second = answer.find("POST /p body");
    const auto third = answer.find("GET /last");
    CHECK(first < second);
    CHECK(second < third);
    CHECK(third != std::string::npos);
  };
  loop.run(client());
  CHECK(loop.server->stats().requests == 3);
  CHECK(loop.server->stats().connections == 1);
  CHECK(loop.server->stats().open == 0);
}

TEST_CASE("HttpServer: many requests pipelined at once are all answered") {
  Loopback loop;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  text += "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  auto client = [&]() -> asio::awaitable<void> {
    const std::string answer = co_await loop.raw(text);
    CHECK(answer.find("GET /last") != std::string::npos);
  };
  loop.run(client());
  CHECK(loop.server->stats().requests == 201);
}

TEST_CASE("HttpServer: what it cannot accept is refused with the right status") {
  HttpServerOptions options;
  options.max_body = 100;
  options.max_header = 2000;
  Loopback loop(options);
  auto client = [&]() -> asio::awaitable<void> {
    co_await expect_raw(loop,
                        "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'b'),
                        "HTTP/1.1 413 Content Too Large", "application/problem+json");
    co_await expect_raw(loop,
                        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                            std::string(101, 'b') + "\r\n0\r\n\r\n",
                        "HTTP/1.1 413 Content Too Large", "\"status\":413");
    co_await expect_raw(loop, "GET / HTTP/1.1\r\nX: " + std::string(3000, 'h') + "\r\n\r\n",
                        "HTTP/1.1 431 Request Header Fields Too Large", "\"status\":431");
    co_await expect_raw(loop, "\x16\x03\x01 not http at all\r\n\r\n", "HTTP/1.1 400 Bad Request",
                        "\"status\":400");
    co_await expect_raw(loop, "GET /%zz HTTP/1.1\r\nConnection: close\r\n\r\n",
                        "HTTP/1.1 400 Bad Request", "torn percent-escape");
    co_await expect_raw(loop,
                        "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
                        "HTTP/1.1 400 Bad Request", "\"status\":400");
  };
  loop.run(client());
  CHECK(loop.server->stats().too_large == 3);
  CHECK(loop.server->stats().malformed == 3);
}

TEST_CASE("HttpServer: HEAD has the length and no body, OPTIONS has Allow, 1.0 closes") {
  Loopback loop;
  auto client = [&]() -> asio::awaitable<void> {
    const std::string head = co_await loop.raw("HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n");
    CHECK(head.find("Content-Length: 6\r\n") != std::string::npos);
    CHECK(head.ends_with("\r\n\r\n"));
    co_await expect_raw(loop, "OPTIONS /x HTTP/1.1\r\nConnection: close\r\n\r\n",
                        "HTTP/1.1 204 No Content", "Allow: GET, HEAD, POST, OPTIONS\r\n");
    co_await expect_raw(loop, "GET /old HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK", "GET /old");
  };
  loop.run(client());
}

TEST_CASE("HttpServer: Expect: 100-continue is answered before the body is read") {
  Loopback loop;
  auto client = [&]() -> asio::awaitable<void> {
    tcp::socket socket = co_await loop.dial();
    const std::string head =
        "POST /c HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: "
        "close\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
    std::string interim(25, '\0');
    co_await asio::async_read(socket, asio::buffer(interim), asio::use_awaitable);
    CHECK(interim == "HTTP/1.1 100 Continue\r\n\r\n");
    const std::string body = "ok";
    co_await asio::async_write(socket, asio::buffer(body), asio::use_awaitable);
    const std::string answer = co_await Loopback::read_all(socket);
    CHECK(answer.ends_with("POST /c ok"));
  };
  loop.run(client());
}

TEST_CASE("HttpServer: a handler that throws gives 500 and the server goes on") {
  Loopback loop;
  loop.handler.on_handle = [](Request) -> asio::awaitable<Response> {
    throw std::runtime_error("secret");
    co_return Response();
  };
  auto client = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 2; ++i) {
      auto answer = co_await http_request(loop.url("http", "/"), "GET", Headers(), std::string(),
                                          ClientOptions());
      REQUIRE(answer.ok());
      CHECK(answer->status == 500);
      CHECK(answer->body.find("secret") == std::string::npos);
    }
  };
  loop.run(client());
}

TEST_CASE("HttpServer: a stream is sent whole, and the connection stays usable") {
  Loopback loop;
  loop.handler.on_handle = [](Request) {
    std::vector<std::string> pieces{"one\n", "", std::string(1u << 20, 'z'), "last\n"};
    return respond_with(std::make_shared<ListStream>(std::move(pieces)));
  };
  auto client = [&]() -> asio::awaitable<void> {
    std::string got;
    auto sink = [&got](std::string_view piece) {
      got += piece;
      return true;
    };
    auto answer = co_await http_stream(loop.url("http", "/"), Headers(), ClientOptions(), sink);
    REQUIRE(answer.ok());
    CHECK(answer->content_type == "application/x-ndjson");
    CHECK(got == "one\n" + std::string(1u << 20, 'z') + "last\n");
    const std::string twice =
        co_await loop.raw("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    CHECK(twice.size() > 2 * (1u << 20));
    CHECK(twice.ends_with("5\r\nlast\n\r\n0\r\n\r\n"));
    const std::string old = co_await loop.raw("GET / HTTP/1.0\r\n\r\n");
    CHECK(old.ends_with("zlast\n"));
  };
  loop.run(client());
}

TEST_CASE("HttpServer: a stream that fails at once has a status, one that fails later has no end") {
  Loopback loop;
  loop.handler.on_handle = [](Request request) {
    std::vector<std::string> pieces;
    if (request.path == "/late") pieces.push_back("one\n");
    return respond_with(std::make_shared<ListStream>(std::move(pieces), true));
  };
  auto client = [&]() -> asio::awaitable<void> {
    co_await expect_raw(loop, "GET /early HTTP/1.1\r\nConnection: close\r\n\r\n",
                        "HTTP/1.1 504 Gateway Timeout", "too slow");
    auto sink = [](std::string_view) { return true; };
    auto late = co_await http_stream(loop.url("http", "/late"), Headers(), ClientOptions(), sink);
    REQUIRE_FALSE(late.ok());
    CHECK(late.error().message().find("closed before its answer ended") != std::string::npos);
  };
  loop.run(client());
}

TEST_CASE("HttpServer: a client that leaves while nothing is sent is noticed") {
  Loopback loop;
  int abandoned = 0, destroyed = 0;
  loop.handler.on_handle = [&](Request) {
    return respond_with(std::make_shared<EndlessStream>(loop.io, 2, abandoned, destroyed));
  };
  auto client = [&]() -> asio::awaitable<void> {
    {
      tcp::socket socket = co_await loop.dial();
      const std::string head = "GET / HTTP/1.1\r\n\r\n";
      co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
      std::string some(2000, '\0');
      co_await asio::async_read(socket, asio::buffer(some), asio::use_awaitable);
    }
    // The server's end is seen by turns of the loop, not by time.
    while (destroyed == 0) co_await asio::post(loop.io, asio::use_awaitable);
  };
  loop.run(client());
  CHECK(abandoned == 1);
  CHECK(destroyed == 1);
  CHECK(loop.server->stats().abandoned == 1);
}

TEST_CASE("HttpServer: a client that leaves while much is sent is noticed") {
  Loopback loop;
  int abandoned = 0, destroyed = 0;
  loop.handler.on_handle = [&](Request) {
    return respond_with(std::make_shared<EndlessStream>(loop.io, 1u << 30, abandoned, destroyed));
  };
  auto client = [&]() -> asio::awaitable<void> {
    std::size_t got = 0;
    auto sink = [&got](std::string_view piece) {
      got += piece.size();
      return got < 100'000;
    };
    auto answer = co_await http_stream(loop.url("http", "/"), Headers(), ClientOptions(), sink);
    CHECK(answer.ok());
    while (destroyed == 0) co_await asio::post(loop.io, asio::use_awaitable);
  };
  loop.run(client());
  CHECK(abandoned == 1);
}

TEST_CASE("HttpServer: a handler is cancelled when its client leaves") {
  Loopback loop;
  bool cancelled = false;
  loop.handler.on_handle = [&](Request) -> asio::awaitable<Response> {
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer timer(loop.io, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    cancelled = true;
    co_return Response();
  };
  auto client = [&]() -> asio::awaitable<void> {
    {
      tcp::socket socket = co_await loop.dial();
      const std::string head = "GET / HTTP/1.1\r\n\r\n";
      co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
      while (loop.server->stats().requests == 0) {
        co_await asio::post(loop.io, asio::use_awaitable);
      }
    }
    while (!cancelled) co_await asio::post(loop.io, asio::use_awaitable);
  };
  loop.run(client());
  CHECK(loop.server->stats().abandoned == 1);
}

TEST_CASE("HttpServer: fifty clients at once all get their answers") {
  Loopback loop;
  int answered = 0;
  auto one = [&](int number) -> asio::awaitable<void> {
    const std::string path = "/" + std::to_string(number);
    auto answer = co_await http_request(loop.url("http", path), "GET", Headers(), std::string(),
                                        ClientOptions());
    REQUIRE(answer.ok());
    CHECK(answer->body == "GET " + path);
    ++answered;
  };
  auto client = [&]() -> asio::awaitable<void> {
    TaskGroup group(loop.io.get_executor());
    for (int i = 0; i < 50; ++i) group.spawn("client", one(i));
    Status status = co_await group.join();
    CHECK(status.ok());
  };
  loop.run(client());
  CHECK(answered == 50);
  CHECK(loop.server->stats().connections == 50);
}

TEST_CASE("HttpServer: over max_connections a client gets 503 with Retry-After") {
  HttpServerOptions options;
  options.max_connections = 1;
  Loopback loop(options);
  auto client = [&]() -> asio::awaitable<void> {
    tcp::socket holds = co_await loop.dial();
    while (loop.server->stats().open == 0) co_await asio::post(loop.io, asio::use_awaitable);
    auto answer = co_await http_request(loop.url("http", "/"), "GET", Headers(), std::string(),
                                        ClientOptions());
    REQUIRE(answer.ok());
    CHECK(answer->status == 503);
    CHECK(find_header(answer->headers, "retry-after") == "1");
  };
  loop.run(client());
  CHECK(loop.server->stats().refused == 1);
}

TEST_CASE("HttpServer: stop() closes idle connections, lets an answer end, then cuts") {
  Loopback loop;
  asio::steady_timer never(loop.io, asio::steady_timer::time_point::max());
  asio::steady_timer release(loop.io, asio::steady_timer::time_point::max());
  loop.handler.on_handle = [&](Request request) -> asio::awaitable<Response> {
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer& timer = request.path == "/never" ? never : release;
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    Response response;
    response.body = "done";
    co_return response;
  };
  std::string idle = "?", finishing = "?", stuck = "?";
  auto ask = [&](std::string text, std::string& out) -> asio::awaitable<void> {
    out = co_await loop.raw(std::move(text));
    if (&out == &idle) release.cancel();  // the idle one is closed first; then the other may end
  };
  auto client = [&]() -> asio::awaitable<void> {
    TaskGroup group(loop.io.get_executor());
    group.spawn("idle", ask("", idle));
    group.spawn("finishing", ask("GET /release HTTP/1.1\r\n\r\n", finishing));
    group.spawn("stuck", ask("GET /never HTTP/1.1\r\n\r\n", stuck));
    while (loop.server->stats().requests != 2 || loop.server->stats().open != 3) {
      co_await asio::post(loop.io, asio::use_awaitable);
    }
    loop.server->stop(std::chrono::milliseconds(100));
    Status status = co_await group.join();
    CHECK(status.ok());
  };
  loop.run(client());
  CHECK(idle.empty());
  CHECK(finishing.ends_with("done"));
  CHECK(finishing.find("Connection: close") != std::string::npos);
  CHECK(stuck.empty());
}

TEST_CASE("HttpServer: an address in use is an error that names it") {
  Loopback loop;
  HttpServerOptions options;
  options.port = loop.server->port();
  auto second = HttpServer::listen(loop.io, options, loop.handler);
  REQUIRE_FALSE(second.ok());
  const std::string where = "127.0.0.1:" + std::to_string(options.port);
  CHECK(second.error().message().find(where) != std::string::npos);
  options.address = "not an address";
  CHECK_FALSE(HttpServer::listen(loop.io, options, loop.handler).ok());
}

}  // namespace logarithm::net
