#include "common/net/ws_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "common/net/client.h"
#include "common/net/connect.h"
#include "common/net/http_text.h"

namespace logarithm::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds kCloseDeadline(2);
constexpr std::size_t kMostReason = 123;  // RFC 6455: a control frame holds 125 bytes

// Without per-message-deflate: blocks are compressed already, and a small message that unpacks to
// gigabytes cannot be sent.
using Stream = websocket::stream<beast::tcp_stream, false>;

class WebSocket final : public WsConnection, public std::enable_shared_from_this<WebSocket> {
 public:
  WebSocket(tcp::socket socket, const WsSettings& settings)
      : stream_(std::move(socket)),
        turn_(stream_.get_executor(), 1),
        close_deadline_(stream_.get_executor()),
        peer_(settings.peer) {
    websocket::stream_base::timeout timeout;
    timeout.handshake_timeout = settings.handshake_timeout;
    timeout.idle_timeout = settings.idle_timeout;
    timeout.keep_alive_pings = true;
    stream_.set_option(timeout);
    stream_.read_message_max(settings.max_message);
    stream_.auto_fragment(false);
  }

  Stream& stream() { return stream_; }

  asio::awaitable<Status> send(std::string message) override {
    return write(std::move(message), true);
  }
  asio::awaitable<Status> send_text(std::string message) override {
    return write(std::move(message), false);
  }
  asio::awaitable<Result<std::string>> receive() override;
  asio::awaitable<void> close(std::string reason) override;
  void cancel() override {
    cut_ = true;
    beast::get_lowest_layer(stream_).close();
    turn_.cancel();
  }
  std::string peer() const override { return peer_; }

 private:
  using Turn = asio::experimental::channel<void(boost::system::error_code)>;

  // Gives the turn to the next sender, also when the coroutine is thrown out of its await.
  struct Release {
    Turn& turn;
    explicit Release(Turn& held) : turn(held) {}
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;
    ~Release() {
      turn.try_receive([](boost::system::error_code) {});
    }
  };

  asio::awaitable<Status> write(std::string message, bool binary);
  Error failure(const boost::system::error_code& code) const;

  Stream stream_;
  Turn turn_;  // one slot: who has put its token in may write
  asio::steady_timer close_deadline_;
  std::string peer_;
  bool cut_ = false;
  bool closing_ = false;
};

Error WebSocket::failure(const boost::system::error_code& code) const {
  if (code == websocket::error::closed) {
    const auto& why = stream_.reason().reason;
    std::string text = "closed by " + peer_;
    if (!why.empty()) text += ": " + std::string(why.data(), why.size());
    return Error(ErrorCode::cancelled, std::move(text));
  }
  if (cut_ || closing_ || code == asio::error::operation_aborted) {
    return Error(ErrorCode::cancelled, "connection to " + peer_ + " closed");
  }
  if (code == websocket::error::message_too_big || code == websocket::error::buffer_overflow) {
    return Error(ErrorCode::too_large, "message from " + peer_ + " is over the limit");
  }
  return Error(ErrorCode::unavailable, "connection to " + peer_ + ": " + code.message());
}

asio::awaitable<Status> WebSocket::write(std::string message, bool binary) {
  auto self = shared_from_this();
  const boost::system::error_code token;
  auto [no_turn] = co_await turn_.async_send(token, kAwait);
  if (no_turn) co_return failure(asio::error::operation_aborted);
  Release release(turn_);
  if (cut_ || closing_) co_return failure(asio::error::operation_aborted);
  stream_.binary(binary);
  const auto buffer = asio::buffer(message);
  auto [broken, sent] = co_await stream_.async_write(buffer, kAwait);
  if (broken) co_return failure(broken);
  co_return Status();
}

asio::awaitable<Result<std::string>> WebSocket::receive() {
  auto self = shared_from_this();
  std::string message;
  auto buffer = asio::dynamic_buffer(message);
  auto [broken, size] = co_await stream_.async_read(buffer, kAwait);
  if (broken) co_return failure(broken);
  co_return std::move(message);
}

asio::awaitable<void> WebSocket::close(std::string reason) {
  auto self = shared_from_this();
  if (closing_ || cut_ || !stream_.is_open()) co_return;
  closing_ = true;
  close_deadline_.expires_after(kCloseDeadline);
  close_deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& ended) {
    auto late = weak.lock();
    if (!ended && late) late->cancel();
  });
  if (reason.size() > kMostReason) reason.resize(kMostReason);
  const websocket::close_reason why(websocket::close_code::normal, reason);
  co_await stream_.async_close(why, kAwait);  // whatever came of it, the socket goes
  close_deadline_.cancel();
  cancel();
}

void set_header(http::fields& fields, http::field name, const std::string& value) {
  if (!value.empty()) fields.set(name, value);
}

void decorate_response(Stream& stream, const std::string& protocol) {
  stream.set_option(
      websocket::stream_base::decorator([protocol](websocket::response_type& response) {
        set_header(response, http::field::sec_websocket_protocol, protocol);
        response.set(http::field::server, "logarithm");
      }));
}

void decorate_request(Stream& stream, const std::string& protocol, const std::string& token) {
  stream.set_option(
      websocket::stream_base::decorator([protocol, token](websocket::request_type& request) {
        set_header(request, http::field::sec_websocket_protocol, protocol);
        if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
        request.set(http::field::user_agent, "logarithm/" LGR_VERSION);
      }));
}

Error refused(const boost::system::error_code& code, const websocket::response_type& response) {
  if (code != websocket::error::upgrade_declined) {
    return Error(ErrorCode::unavailable, code.message());
  }
  const unsigned status = response.result_int();
  std::string text =
      std::to_string(status) + " " + std::string(reason_phrase(static_cast<int>(status)));
  const std::string detail = problem_detail(response.body());
  if (!detail.empty()) text += ": " + detail;
  const bool permanent = status >= 400 && status < 500 && status != 408 && status != 429;
  return Error(permanent ? ErrorCode::invalid : ErrorCode::unavailable, std::move(text));
}

}  // namespace

asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_accept(tcp::socket socket,
                                                                 std::string head,
                                                                 std::string protocol,
                                                                 WsSettings settings) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(head.size() + 1));
  boost::system::error_code malformed;
  parser.put(asio::buffer(head), malformed);
  if (malformed || !parser.is_header_done()) {
    co_return Error(ErrorCode::invalid, "not an upgrade request");
  }
  auto connection = std::make_shared<WebSocket>(std::move(socket), settings);
  decorate_response(connection->stream(), protocol);
  auto [broken] = co_await connection->stream().async_accept(parser.get(), kAwait);
  if (broken) co_return Error(ErrorCode::unavailable, "upgrade: " + broken.message());
  co_return std::shared_ptr<WsConnection>(std::move(connection));
}

asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_handshake(tcp::socket socket, Url url,
                                                                    std::string protocol,
                                                                    std::string token,
                                                                    WsSettings settings) {
  auto connection = std::make_shared<WebSocket>(std::move(socket), settings);
  decorate_request(connection->stream(), protocol, token);
  websocket::response_type response;
  const std::string host = authority(url.host, url.port);
  auto [broken] = co_await connection->stream().async_handshake(response, host, url.path, kAwait);
  if (broken) co_return refused(broken, response).with_context(host);
  if (!protocol.empty() && response[http::field::sec_websocket_protocol] != protocol) {
    co_return Error(ErrorCode::invalid, host + ": the server does not speak " + protocol);
  }
  co_return std::shared_ptr<WsConnection>(std::move(connection));
}

asio::awaitable<Result<std::shared_ptr<WsConnection>>> ws_connect(Url url, std::string protocol,
                                                                  ClientOptions options) {
  LGR_CO_TRY(auto socket, co_await connect(url.host, url.port, options.connect_timeout));
  WsSettings settings;
  settings.max_message = options.max_message;
  settings.handshake_timeout = options.connect_timeout;
  settings.idle_timeout = options.idle_timeout;
  settings.peer = authority(url.host, url.port);
  co_return co_await ws_handshake(std::move(socket), std::move(url), std::move(protocol),
                                  std::move(options.token), std::move(settings));
}

}  // namespace logarithm::net
