#include <sys/resource.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/socket_base.hpp>

#include "tests/unit/common/net/loopback.h"

// Style T13: every exchange fails at its N-th byte, N = 0, 1, 2 … until it succeeds, in both
// directions, by an end and by a reset. Each failure must be an error, and none a hang.
namespace logarithm::net::test {
namespace {

// Between client and server: forwards so many bytes, in both directions together, then cuts.
class Cutter {
 public:
  Cutter(asio::io_context& io, std::uint16_t port, std::size_t bytes, bool reset)
      : io_(io),
        listener_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        client_(io),
        server_(io),
        port_(port),
        left_(bytes),
        reset_(reset) {}

  std::uint16_t port() const { return listener_.local_endpoint().port(); }
  bool was_cut() const { return cut_; }

  // One connection, until both directions have ended.
  asio::awaitable<Status> run() {
    auto [refused] = co_await listener_.async_accept(client_, kTuple);
    if (refused) co_return Status();
    const tcp::endpoint to(asio::ip::address_v4::loopback(), port_);
    auto [broken] = co_await server_.async_connect(to, kTuple);
    if (broken || left_ == 0) {
      cut();
      co_return Status();
    }
    TaskGroup pumps(io_.get_executor());
    pumps.spawn("there", pump(client_, server_));
    pumps.spawn("back", pump(server_, client_));
    co_return co_await pumps.join();
  }

 private:
  static constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

  asio::awaitable<Status> pump(tcp::socket& from, tcp::socket& to) {
    char bytes[4096];
    while (!cut_) {
      auto [ended, size] = co_await from.async_read_some(asio::buffer(bytes), kTuple);
      if (ended) break;
      const std::size_t some = std::min(size, left_);
      auto [broken, written] = co_await asio::async_write(to, asio::buffer(bytes, some), kTuple);
      left_ -= std::min(left_, written);
      if (broken) break;
      if (some < size || left_ == 0) cut();
    }
    boost::system::error_code ignored;
    to.shutdown(tcp::socket::shutdown_send, ignored);
    co_return Status();
  }
  void cut() {
    cut_ = true;
    for (tcp::socket* socket : {&client_, &server_}) {
      boost::system::error_code ignored;
      if (reset_) socket->set_option(asio::socket_base::linger(true, 0), ignored);
      socket->close(ignored);
    }
  }

  asio::io_context& io_;
  tcp::acceptor listener_;
  tcp::socket client_, server_;
  std::uint16_t port_;
  std::size_t left_;
  bool reset_;
  bool cut_ = false;
};

ClientOptions patient() {
  ClientOptions options;
  options.idle_timeout = std::chrono::seconds(20);
  return options;
}

// Runs `exchange` through a cutter with ever more bytes until one gets through uncut, which must
// succeed. The number of cuts.
template <typename Exchange>
int cut_everywhere(Exchange exchange, std::size_t step, bool reset) {
  for (int cuts = 0;; ++cuts) {
    REQUIRE(cuts < 5000);
    const std::size_t bytes = static_cast<std::size_t>(cuts) * step;
    CAPTURE(bytes);
    Loopback loopback;
    Cutter cutter(loopback.io, loopback.server->port(), bytes, reset);
    TaskGroup proxy(loopback.io.get_executor());
    proxy.spawn("cutter", cutter.run());
    bool succeeded = false;
    loopback.run(exchange(loopback, cutter.port(), &succeeded));
    REQUIRE(logarithm::test::run_coro(loopback.io, proxy.join()).ok());
    // (Cut after the last byte, it may have succeeded.)
    if (!cutter.was_cut()) CHECK(succeeded);
    CHECK(loopback.server->stats().open == 0);
    if (!cutter.was_cut()) return cuts;
  }
}

asio::awaitable<void> get(Loopback&, std::uint16_t port, bool* succeeded) {
  Url url = parse_url("http://127.0.0.1:" + std::to_string(port) + "/a?b=c").value();
  std::string method = "POST", body = "the body";
  Headers headers;
  ClientOptions options = patient();
  auto answer = co_await http_request(std::move(url), std::move(method), std::move(headers),
                                      std::move(body), std::move(options));
  *succeeded = answer.ok();
  if (answer.ok()) CHECK(answer->body == "POST /a b=c the body");
}

// Pieces of a body, one after another.
class Pieces final : public BodyStream {
 public:
  asio::awaitable<Result<std::optional<std::string>>> next() override {
    using Piece = std::optional<std::string>;
    if (given_ == 5) co_return Piece();
    co_return Piece("piece " + std::to_string(given_++) + "\n");
  }
  void abandoned() override {}

 private:
  int given_ = 0;
};

asio::awaitable<Response> streamed(Request) {
  Response response;
  response.content_type = "text/plain";
  response.stream = std::make_shared<Pieces>();
  co_return response;
}

asio::awaitable<void> stream(Loopback& loopback, std::uint16_t port, bool* succeeded) {
  loopback.handler.on_handle = streamed;
  Url url = parse_url("http://127.0.0.1:" + std::to_string(port) + "/").value();
  std::string got;
  std::function<bool(std::string_view)> sink = [&got](std::string_view bytes) {
    got += bytes;
    return true;
  };
  Headers headers;
  ClientOptions options = patient();
  auto answer =
      co_await http_stream(std::move(url), std::move(headers), std::move(options), std::move(sink));
  *succeeded = answer.ok();
  // A torn body is never taken for a whole one.
  if (answer.ok()) CHECK(got == "piece 0\npiece 1\npiece 2\npiece 3\npiece 4\n");
}

asio::awaitable<void> talk(Loopback&, std::uint16_t port, bool* succeeded) {
  Url url = parse_url("ws://127.0.0.1:" + std::to_string(port) + "/ws").value();
  std::string protocol = "logarithm.v1";
  ClientOptions options = patient();
  auto socket = co_await ws_connect(std::move(url), std::move(protocol), std::move(options));
  if (!socket.ok()) co_return;
  std::string message(300, 'x');
  Status sent = co_await (*socket)->send(std::move(message));
  auto echoed = co_await (*socket)->receive();
  *succeeded = sent.ok() && echoed.ok();
  if (echoed.ok()) CHECK(*echoed == std::string(300, 'x'));
  (*socket)->cancel();
}

}  // namespace

TEST_CASE("Net: a request that is cut at any byte is an error, and neither side hangs") {
  for (const bool reset : {false, true}) {
    CAPTURE(reset);
    CHECK(cut_everywhere(get, 1, reset) > 100);
  }
}

TEST_CASE("Net: a streamed body that is cut at any byte is an error, never a short success") {
  for (const bool reset : {false, true}) {
    CAPTURE(reset);
    CHECK(cut_everywhere(stream, 1, reset) > 100);
  }
}

TEST_CASE("Net: a WebSocket that is cut anywhere is an error, and neither side hangs") {
  for (const bool reset : {false, true}) {
    CAPTURE(reset);
    CHECK(cut_everywhere(talk, 3, reset) > 50);
  }
}

TEST_CASE("Net: nobody listens: an error that names the address") {
  asio::io_context io;
  std::uint16_t port = 0;
  {
    tcp::acceptor taken(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    port = taken.local_endpoint().port();
  }
  auto task = [](std::uint16_t to) -> asio::awaitable<Error> {
    Url url = parse_url("http://127.0.0.1:" + std::to_string(to) + "/").value();
    std::string method = "GET", body;
    Headers headers;
    ClientOptions options = patient();
    auto answer = co_await http_request(std::move(url), std::move(method), std::move(headers),
                                        std::move(body), std::move(options));
    REQUIRE_FALSE(answer.ok());
    co_return answer.error();
  };
  const Error error = logarithm::test::run_coro(io, task(port));
  CHECK(error.code() == ErrorCode::unavailable);
  CHECK(error.message().find(std::to_string(port)) != std::string::npos);
}

TEST_CASE("Net: connecting without a descriptor is an error, and works again when there is one") {
  Loopback loopback;
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  auto exchange = [](Loopback& at, rlimit limit) -> asio::awaitable<void> {
    bool succeeded = false;
    co_await get(at, at.server->port(), &succeeded);
    CHECK(succeeded);
    struct rlimit none = limit;
    none.rlim_cur = 3;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    succeeded = false;
    co_await get(at, at.server->port(), &succeeded);
    CHECK_FALSE(succeeded);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    co_await get(at, at.server->port(), &succeeded);
    CHECK(succeeded);
  };
  loopback.run(exchange(loopback, before));
}

}  // namespace logarithm::net::test
