#include "cli/tail_client.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "common/net/http_server.h"

namespace logarithm::cli {
namespace {

namespace asio = boost::asio;

// Pauses pass at once.
class NoWaiting final : public Clock {
 public:
  MonotonicTime now() const override { return {}; }
  UnixNanos wall_now() const override { return 0; }
  asio::awaitable<void> sleep_until(MonotonicTime) override { co_return; }
};

std::string message(const std::string& line, const std::string& cursor) {
  return R"({"lines":[{"text":")" + line + R"("}],"live":true,"cursor":")" + cursor + R"("})";
}

// Gives each connection the messages of its turn, then cuts it.
class FakeTail final : public net::HttpHandler {
 public:
  std::vector<std::vector<std::string>> turns;
  std::vector<std::string> cursors;  // what each connection asked for
  bool refuse = false;

  asio::awaitable<net::Response> handle(net::Request) override { co_return net::Response(); }
  std::optional<net::Response> check_websocket(const net::Request&) override {
    if (!refuse) return std::nullopt;
    net::Response no;
    no.status = 400;
    no.body = R"({"status":400,"detail":"bad filter"})";
    return no;
  }
  asio::awaitable<void> websocket(net::Request request,
                                  std::shared_ptr<net::WsConnection> connection) override {
    std::string cursor(request.param("cursor").value_or("none"));
    if (cursor == "-") {
      auto first = co_await connection->receive();
      cursor = first.ok() ? "message of " + std::to_string(first->size()) : "nothing";
    }
    cursors.push_back(cursor);
    if (cursors.size() <= turns.size()) {
      for (std::string& text : turns[cursors.size() - 1]) {
        const Status sent = co_await connection->send_text(std::move(text));
        if (!sent.ok()) co_return;
      }
    }
    co_await connection->close("");
  }
};

struct Run {
  Result<bool> result = false;
  std::vector<std::string> lines;
  int lost = 0, found = 0;
};

asio::awaitable<void> keep(TailClient& client, net::HttpServer& server, Run& run) {
  auto running = client.run();
  run.result = co_await std::move(running);
  server.stop(std::chrono::milliseconds(0));
}

// Until `most` lines came.
Run follow(FakeTail& handler, std::size_t most) {
  asio::io_context io;
  auto server = net::HttpServer::listen(io, net::HttpServerOptions(), handler);
  REQUIRE(server.ok());
  Run run;
  NoWaiting clock;
  TailClient::Hooks hooks;
  hooks.message = [&](const TailMessage& got, std::string_view) {
    for (const std::string_view line : got.lines) run.lines.emplace_back(line);
    return run.lines.size() < most;
  };
  hooks.lost = [&](const std::string&) { ++run.lost; };
  hooks.found_again = [&] { ++run.found; };
  net::Url url;
  url.scheme = "http";
  url.host = "127.0.0.1";
  url.port = (*server)->port();
  url.path = "/";
  TailClient client(url, "", Params{{"job", "j"}}, hooks, clock, 1);
  asio::co_spawn(io, (*server)->run(), [](const std::exception_ptr&) {});
  asio::co_spawn(io, keep(client, **server, run), [](const std::exception_ptr&) {});
  io.run();
  return run;
}

TEST_CASE("TailClient: each connection goes on behind the last message that came") {
  FakeTail handler;
  handler.turns = {
      {message("a", "1"), message("b", "2")}, {}, {message("c", "3")}, {message("d", "4")}};

  const Run run = follow(handler, 4);

  CHECK(run.result.ok());
  CHECK(run.lines == std::vector<std::string>{R"({"text":"a"})", R"({"text":"b"})",
                                              R"({"text":"c"})", R"({"text":"d"})"});
  CHECK(handler.cursors == std::vector<std::string>{"none", "2", "2", "3"});
  // Said once an outage, however often it was tried.
  CHECK(run.lost == 2);
  CHECK(run.found == 2);
}

TEST_CASE("TailClient: a cursor too long for a URL goes as the first message") {
  FakeTail handler;
  handler.turns = {{message("a", std::string(20'000, 'x'))}, {message("b", "2")}};

  const Run run = follow(handler, 2);

  CHECK(run.lines.size() == 2);
  CHECK(handler.cursors == std::vector<std::string>{"none", "message of 20000"});
}

TEST_CASE("TailClient: what the server refuses ends it with the reason") {
  FakeTail handler;
  SUBCASE("at once") {
    handler.refuse = true;
    const Run run = follow(handler, 1);
    REQUIRE_FALSE(run.result.ok());
    CHECK(run.result.error().message().find("bad filter") != std::string::npos);
  }
  SUBCASE("by a message") {
    handler.turns = {{R"({"error":{"status":404,"detail":"no such job: j"}})"}};
    const Run run = follow(handler, 1);
    REQUIRE_FALSE(run.result.ok());
    CHECK(run.result.error().code() == ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace logarithm::cli
