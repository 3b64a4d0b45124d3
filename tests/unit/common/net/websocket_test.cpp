#include <doctest/doctest.h>

#include "tests/unit/common/net/loopback.h"

namespace logarithm::net {
namespace {

using namespace test;  // NOLINT

using Connection = std::shared_ptr<WsConnection>;

asio::awaitable<Connection> connect_to(Loopback& loop, std::string protocol) {
  auto connection =
      co_await ws_connect(loop.url("ws", "/api/v1/ingest"), std::move(protocol), ClientOptions());
  REQUIRE_MESSAGE(connection.ok(), (connection.ok() ? "" : connection.error().message()));
  co_return std::move(*connection);
}

}  // namespace

TEST_CASE("WebSocket: messages of any size up to the limit come back as they were") {
  Loopback loop;
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "logarithm.v1");
    for (std::size_t size : std::vector<std::size_t>{0, 1, 125, 126, 65535, 65536, 5u << 20}) {
      std::string message(size, 'm');
      if (size > 10) message[5] = '\0';
      Status sent = co_await connection->send(message);
      CHECK(sent.ok());
      auto back = co_await connection->receive();
      REQUIRE(back.ok());
      CHECK(*back == message);
    }
    co_await connection->close("done");
  };
  loop.run(client());
  CHECK(loop.server->stats().websockets == 1);
}

TEST_CASE("WebSocket: a close by the peer is Error{cancelled} with its reason") {
  Loopback loop;
  Status received, sent;
  loop.handler.on_websocket = [&](Connection connection) -> asio::awaitable<void> {
    auto message = co_await connection->receive();
    if (!message.ok()) received = message.error();
    sent = co_await connection->send("too late");
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    co_await connection->close("enough for today");
    auto after = co_await connection->receive();
    CHECK(after.error().code() == ErrorCode::cancelled);
    Status late = co_await connection->send("x");
    CHECK_FALSE(late.ok());
  };
  loop.run(client());
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code() == ErrorCode::cancelled);
  CHECK(received.error().message().find("enough for today") != std::string::npos);
  CHECK_FALSE(sent.ok());
}

TEST_CASE("WebSocket: close() while a receive is pending ends both") {
  Loopback loop;
  auto reader = [](Connection connection, Status& ended) -> asio::awaitable<void> {
    auto message = co_await connection->receive();
    if (!message.ok()) ended = message.error();
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    TaskGroup group(loop.io.get_executor());
    Status ended;
    group.spawn("reader", reader(connection, ended));
    co_await asio::post(loop.io, asio::use_awaitable);
    co_await connection->close("");
    Status joined = co_await group.join();
    CHECK(joined.ok());
    REQUIRE_FALSE(ended.ok());
    CHECK(ended.error().code() == ErrorCode::cancelled);
  };
  loop.run(client());
}

TEST_CASE("WebSocket: sends from several coroutines arrive whole and in order") {
  Loopback loop;
  auto writer = [](Connection connection, int number) -> asio::awaitable<Status> {
    std::string text(100'000, static_cast<char>('a' + number));
    co_return co_await connection->send_text(std::move(text));
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    TaskGroup group(loop.io.get_executor());
    for (int i = 0; i < 20; ++i) group.spawn("writer", writer(connection, i));
    for (int i = 0; i < 20; ++i) {
      auto message = co_await connection->receive();
      REQUIRE(message.ok());
      CHECK(*message == std::string(100'000, static_cast<char>('a' + i)));
    }
    Status joined = co_await group.join();
    CHECK(joined.ok());
    co_await connection->close("");
  };
  loop.run(client());
}

TEST_CASE("WebSocket: a message over the limit ends the connection with too_large") {
  HttpServerOptions options;
  options.max_message = 1000;
  Loopback loop(options);
  Status received;
  loop.handler.on_websocket = [&](Connection connection) -> asio::awaitable<void> {
    auto message = co_await connection->receive();
    if (!message.ok()) received = message.error();
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    Status sent = co_await connection->send(std::string(1001, 'x'));
    auto after = co_await connection->receive();
    CHECK_FALSE(after.ok());
  };
  loop.run(client());
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code() == ErrorCode::too_large);
}

TEST_CASE("WebSocket: cancel() ends a pending receive at once") {
  Loopback loop;
  auto canceller = [](Connection connection) -> asio::awaitable<void> {
    connection->cancel();
    co_return;
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    TaskGroup group(loop.io.get_executor());
    group.spawn("canceller", canceller(connection));
    auto message = co_await connection->receive();
    CHECK(message.error().code() == ErrorCode::cancelled);
    Status joined = co_await group.join();
    CHECK(joined.ok());
  };
  loop.run(client());
}

TEST_CASE("WebSocket: a peer that vanishes is Error{unavailable}") {
  Loopback loop;
  Status received;
  loop.handler.on_websocket = [&](Connection connection) -> asio::awaitable<void> {
    auto message = co_await connection->receive();
    if (!message.ok()) received = message.error();
  };
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    connection->cancel();
    while (received.ok()) co_await asio::post(loop.io, asio::use_awaitable);
  };
  loop.run(client());
  CHECK(received.error().code() == ErrorCode::unavailable);
}

TEST_CASE("WebSocket: the handler's refusal reaches the client, permanent or not") {
  Loopback loop;
  int status = 403;
  loop.handler.on_check = [&](const Request& request) {
    CHECK(request.path == "/api/v1/ingest");
    Response no;
    no.status = status;
    no.content_type = "application/problem+json";
    no.body = "{\"detail\":\"wrong token\"}";
    return std::optional<Response>(no);
  };
  auto client = [&]() -> asio::awaitable<void> {
    auto refused =
        co_await ws_connect(loop.url("ws", "/api/v1/ingest"), "logarithm.v1", ClientOptions());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code() == ErrorCode::invalid);
    CHECK(refused.error().message().find("403 Forbidden: wrong token") != std::string::npos);
    status = 503;
    auto busy =
        co_await ws_connect(loop.url("ws", "/api/v1/ingest"), "logarithm.v1", ClientOptions());
    CHECK(busy.error().code() == ErrorCode::unavailable);
  };
  loop.run(client());
}

TEST_CASE("WebSocket: the subprotocol is echoed only when it was offered") {
  Loopback loop;
  const std::string head =
      "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  auto answer_to = [&](std::string text) -> asio::awaitable<std::string> {
    tcp::socket socket = co_await loop.dial();
    co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), "\r\n\r\n",
                                    asio::use_awaitable);
    co_return answer;
  };
  auto client = [&]() -> asio::awaitable<void> {
    const std::string plain = co_await answer_to(head + "\r\n");
    CHECK(plain.starts_with("HTTP/1.1 101 "));
    CHECK(plain.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string::npos);
    CHECK(plain.find("Sec-WebSocket-Protocol") == std::string::npos);
    const std::string offered =
        co_await answer_to(head + "Sec-WebSocket-Protocol: other, logarithm.v1\r\n\r\n");
    CHECK(offered.find("Sec-WebSocket-Protocol: logarithm.v1\r\n") != std::string::npos);
    const std::string foreign = co_await answer_to(head + "Sec-WebSocket-Protocol: other\r\n\r\n");
    CHECK(foreign.find("Sec-WebSocket-Protocol") == std::string::npos);
  };
  loop.run(client());
}

TEST_CASE("WebSocket: a long request head is accepted up to the header limit") {
  Loopback loop;
  auto client = [&]() -> asio::awaitable<void> {
    ClientOptions options;
    options.token = std::string(20'000, 't');
    auto connection = co_await ws_connect(loop.url("ws", "/"), "logarithm.v1", std::move(options));
    REQUIRE(connection.ok());
    co_await (*connection)->close("");
  };
  loop.run(client());
}

TEST_CASE("WebSocket: a stop of the server closes politely") {
  Loopback loop;
  auto client = [&]() -> asio::awaitable<void> {
    Connection connection = co_await connect_to(loop, "");
    while (loop.server->stats().websockets == 0) {
      co_await asio::post(loop.io, asio::use_awaitable);
    }
    loop.server->stop(std::chrono::seconds(30));
    auto message = co_await connection->receive();
    REQUIRE_FALSE(message.ok());
    CHECK(message.error().to_string().find("the server stops") != std::string::npos);
  };
  loop.run(client());
}

TEST_CASE("WebSocket: a peer that answers no ping is cut after the idle timeout") {
  HttpServerOptions options;
  options.idle_timeout = std::chrono::seconds(1);
  Loopback loop(options);
  Status received;
  loop.handler.on_websocket = [&](Connection connection) -> asio::awaitable<void> {
    auto message = co_await connection->receive();
    if (!message.ok()) received = message.error();
  };
  auto client = [&]() -> asio::awaitable<void> {
    tcp::socket socket = co_await loop.dial();
    const std::string head =
        "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
    const std::string rest = co_await Loopback::read_all(socket);
    CHECK(rest.starts_with("HTTP/1.1 101 "));
  };
  loop.run(client());
  CHECK(received.error().code() == ErrorCode::unavailable);
}

}  // namespace logarithm::net
