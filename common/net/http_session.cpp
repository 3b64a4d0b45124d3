#include "common/net/http_session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <utility>

#include "common/base/logging.h"
#include "common/net/guarded.h"
#include "common/net/http_text.h"
#include "common/net/ws_connection.h"

namespace logarithm::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using asio::experimental::awaitable_operators::operator||;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 256u << 10;     // one write, one renewal of the timeout
constexpr std::size_t kPipelined = 64u << 10;  // bytes of later requests held while one is answered
constexpr std::chrono::seconds kLinger(2);     // for a client that still sends what we refused
constexpr std::size_t kLingerBytes = 64u << 20;

using Parser = http::request_parser<http::string_body>;
using Code = boost::system::error_code;
using Piece = Result<std::optional<std::string>>;  // of a body; absent: its end
enum class Next { request, hang_up };

std::string peer_text(const tcp::socket& socket) {
  Code unknown;
  const tcp::endpoint endpoint = socket.remote_endpoint(unknown);
  if (unknown) return "unknown";
  return authority(endpoint.address().to_string(), endpoint.port());
}

Headers headers_of(const http::fields& fields) {
  Headers out;
  for (const auto& field : fields) {
    out.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return out;
}

// The head as it was sent, for the WebSocket's own parser.
std::string head_text(const http::request<http::string_body>& message) {
  std::string out = std::string(message.method_string()) + " ";
  out.append(message.target().data(), message.target().size()).append(" HTTP/1.1\r\n");
  for (const auto& [name, value] : headers_of(message)) out += name + ": " + value + "\r\n";
  return out + "\r\n";
}

Result<Request> make_request(http::request<http::string_body> message, const std::string& peer) {
  Request request;
  request.method = std::string(message.method_string());
  if (request.method == "HEAD") request.method = "GET";
  LGR_CHECK(
      set_target(request, std::string_view(message.target().data(), message.target().size())));
  request.headers = headers_of(message);
  request.body = std::move(message.body());
  request.peer = peer;
  return request;
}

class Session final : public HttpSession {
 public:
  Session(tcp::socket socket, SessionHost& host)
      : host_(host),
        peer_(peer_text(socket)),
        stream_(std::move(socket)),
        buffer_(host.options.max_header + kPipelined) {
    Code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  asio::awaitable<void> run() override;
  asio::awaitable<void> turn_away() override;

  void wind_down() override {
    if (idle_) stream_.close();
  }
  void cut() override {
    stream_.close();
    abandon();
    if (websocket_) websocket_->cancel();
  }
  std::shared_ptr<WsConnection> websocket() const override { return websocket_; }

 private:
  asio::awaitable<Next> serve_one();
  asio::awaitable<Code> read_head(Parser& parser);
  asio::awaitable<Code> read_body(Parser& parser);
  asio::awaitable<void> refuse_unread(Code problem, bool started);
  asio::awaitable<void> refuse(Response response);
  asio::awaitable<void> upgrade(Parser& parser);
  asio::awaitable<std::optional<Response>> answer(Request request);
  asio::awaitable<std::optional<Piece>> next_piece();
  asio::awaitable<void> watch();
  asio::awaitable<Next> send(Response response, bool bodiless, bool keep_alive);
  asio::awaitable<Next> send_stream(Response response, bool bodiless, bool chunked,
                                    bool keep_alive);
  asio::awaitable<Code> write(std::string text);
  asio::awaitable<void> linger();

  void abandon() {
    if (!producing_) return;
    ++host_.stats.abandoned;
    auto stream = std::exchange(producing_, nullptr);
    stream->abandoned();
  }

  SessionHost& host_;
  std::string peer_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::shared_ptr<BodyStream> producing_;  // until its end or the client's leaving
  std::shared_ptr<WsConnection> websocket_;
  bool idle_ = false;  // no byte of a request has come
};

asio::awaitable<void> Session::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  Next next = Next::request;
  while (next == Next::request && !host_.stopping) next = co_await serve_one();
  stream_.close();
}

asio::awaitable<void> Session::turn_away() {
  co_await asio::this_coro::throw_if_cancelled(false);
  Response response = problem_response(503, "too many connections");
  response.headers.emplace_back("Retry-After", "1");
  co_await refuse(std::move(response));
}

asio::awaitable<Next> Session::serve_one() {
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(host_.options.max_header));
  parser.body_limit(host_.options.max_body);
  idle_ = buffer_.size() == 0;
  Code broken = co_await read_head(parser);
  idle_ = false;
  if (!broken && beast::websocket::is_upgrade(parser.get())) {
    co_await upgrade(parser);
    co_return Next::hang_up;
  }
  if (!broken) broken = co_await read_body(parser);
  if (broken) {
    co_await refuse_unread(broken, parser.got_some());
    co_return Next::hang_up;
  }
  ++host_.stats.requests;
  auto message = parser.release();
  const bool keep_alive = message.keep_alive();
  const bool bodiless = message.method() == http::verb::head;
  const bool old = message.version() < 11;
  if (message.method() == http::verb::options) {
    Response allowed;
    allowed.status = 204;
    allowed.content_type.clear();
    allowed.headers.emplace_back("Allow", "GET, HEAD, POST, OPTIONS");
    co_return co_await send(std::move(allowed), false, keep_alive);
  }
  auto request = make_request(std::move(message), peer_);
  if (!request.ok()) {
    ++host_.stats.malformed;
    co_return co_await send(problem_response(400, request.error().message()), bodiless, keep_alive);
  }
  auto response = co_await answer(std::move(*request));
  if (!response) {
    ++host_.stats.abandoned;
    co_return Next::hang_up;
  }
  if (response->stream) {
    co_return co_await send_stream(std::move(*response), bodiless, !old, keep_alive && !old);
  }
  co_return co_await send(std::move(*response), bodiless, keep_alive);
}

asio::awaitable<Code> Session::read_head(Parser& parser) {
  // One deadline for the whole head: a client may not hold a connection by a byte now and then.
  stream_.expires_after(host_.options.idle_timeout);
  while (!parser.is_header_done()) {
    auto [broken, size] = co_await http::async_read_some(stream_, buffer_, parser, kAwait);
    idle_ = idle_ && !parser.got_some();
    if (broken) co_return broken;
  }
  co_return Code();
}

asio::awaitable<Code> Session::read_body(Parser& parser) {
  if (!parser.is_done() &&
      has_token(std::string_view(parser.get()[http::field::expect]), "100-continue")) {
    Code broken = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (broken) co_return broken;
  }
  while (!parser.is_done()) {
    stream_.expires_after(host_.options.idle_timeout);
    auto [broken, size] = co_await http::async_read_some(stream_, buffer_, parser, kAwait);
    if (broken) co_return broken;
  }
  co_return Code();
}

// Answers what could not be read as a request, where there is somebody to answer.
asio::awaitable<void> Session::refuse_unread(Code problem, bool started) {
  const std::string what = problem.message();
  if (problem == http::error::body_limit) {
    ++host_.stats.too_large;
    const std::string limit = std::to_string(host_.options.max_body);
    co_await refuse(problem_response(413, "the body is over " + limit + " bytes"));
  } else if (problem == http::error::header_limit || problem == http::error::buffer_overflow) {
    ++host_.stats.too_large;
    const std::string limit = std::to_string(host_.options.max_header);
    co_await refuse(problem_response(431, "the header is over " + limit + " bytes"));
  } else if (problem == beast::error::timeout) {
    ++host_.stats.timeouts;  // Beast has closed the socket
  } else if (problem == http::error::end_of_stream || problem == http::error::partial_message) {
    if (started) ++host_.stats.abandoned;
  } else if (problem.category() == make_error_code(http::error::bad_version).category()) {
    ++host_.stats.malformed;
    co_await refuse(problem_response(400, "not an HTTP/1.1 request: " + what));
  }
}

asio::awaitable<void> Session::refuse(Response response) {
  co_await send(std::move(response), false, false);
  co_await linger();
}

asio::awaitable<void> Session::upgrade(Parser& parser) {
  const std::string head = head_text(parser.get());
  const auto offered = parser.get()[http::field::sec_websocket_protocol];
  const bool ours =
      has_token(std::string_view(offered.data(), offered.size()), host_.options.websocket_protocol);
  ++host_.stats.requests;
  auto request = make_request(parser.release(), peer_);
  if (!request.ok() || buffer_.size() != 0) {
    ++host_.stats.malformed;
    std::string why = "data before the upgrade was answered";
    if (!request.ok()) why = request.error().message();
    co_await refuse(problem_response(400, why));
    co_return;
  }
  std::optional<Response> no = host_.handler.check_websocket(*request);
  if (no) {
    co_await refuse(std::move(*no));
    co_return;
  }
  WsSettings settings;
  settings.max_message = host_.options.max_message;
  settings.idle_timeout = host_.options.idle_timeout;
  settings.peer = peer_;
  std::string protocol;
  if (ours) protocol = host_.options.websocket_protocol;
  tcp::socket socket = stream_.release_socket();
  auto accepted = co_await ws_accept(std::move(socket), head, protocol, std::move(settings));
  if (!accepted.ok()) {
    LGR_DEBUG("upgrade failed peer={} error={}", peer_, accepted.error().message());
    co_return;
  }
  ++host_.stats.websockets;
  websocket_ = std::move(*accepted);
  co_await host_.handler.websocket(std::move(*request), websocket_);
  co_await websocket_->close("");
}

asio::awaitable<std::optional<Response>> Session::answer(Request request) {
  stream_.expires_never();
  auto both = guarded(host_.handler, std::move(request)) || watch();
  auto first = co_await std::move(both);
  if (first.index() == 0) co_return std::move(std::get<0>(first));
  co_return std::nullopt;
}

// The stream's next piece; nullopt when the client has left.
asio::awaitable<std::optional<Piece>> Session::next_piece() {
  if (!producing_) co_return std::nullopt;
  stream_.expires_never();
  auto both = guarded_next(producing_) || watch();
  auto first = co_await std::move(both);
  if (first.index() == 0 && producing_) co_return std::move(std::get<0>(first));
  co_return std::nullopt;
}

// Returns when the client has left (or when this is cancelled): the only way to notice it while
// nothing is sent. Early bytes of the next request are kept, up to a limit.
asio::awaitable<void> Session::watch() {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto state = co_await asio::this_coro::cancellation_state;
  while (buffer_.size() < kPipelined) {
    const auto room = buffer_.prepare(4096);
    auto [gone, size] = co_await stream_.async_read_some(room, kAwait);
    buffer_.commit(size);
    // Cancelling comes once: a read that had its bytes already ends well, and the next would not
    // end.
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (!gone) continue;
    abandon();
    co_return;
  }
  asio::steady_timer never(stream_.get_executor(), asio::steady_timer::time_point::max());
  co_await never.async_wait(kAwait);
}

asio::awaitable<Next> Session::send(Response response, bool bodiless, bool keep_alive) {
  keep_alive = keep_alive && !host_.stopping;
  const std::string framing = response.status == 204 || response.status == 304
                                  ? ""
                                  : "Content-Length: " + std::to_string(response.body.size());
  std::string text = response_head(response, framing, keep_alive);
  if (!bodiless) text += response.body;
  const Code broken = co_await write(std::move(text));
  co_return broken || !keep_alive ? Next::hang_up : Next::request;
}

asio::awaitable<Next> Session::send_stream(Response response, bool bodiless, bool chunked,
                                           bool keep_alive) {
  producing_ = std::move(response.stream);
  auto first = co_await next_piece();  // before the head, so that an early failure has its status
  if (!first) co_return Next::hang_up;
  if (!first->ok()) {
    producing_.reset();
    const int status = status_for(first->error().code());
    co_return co_await send(problem_response(status, first->error().message()), bodiless,
                            keep_alive);
  }
  keep_alive = keep_alive && !host_.stopping;
  std::string text =
      response_head(response, chunked ? "Transfer-Encoding: chunked" : "", keep_alive);
  std::optional<std::string> piece = std::move(**first);
  while (!bodiless && piece) {
    if (!piece->empty()) text += chunked ? chunk(*piece) : *piece;
    const Code broken = co_await write(std::move(text));
    text.clear();
    if (broken) abandon();
    auto next = co_await next_piece();
    if (!next) co_return Next::hang_up;
    if (!next->ok()) {
      // The status is gone; a body without its end tells the client that it is not whole.
      LGR_DEBUG("stream failed peer={} error={}", peer_, next->error().message());
      producing_.reset();
      co_return Next::hang_up;
    }
    piece = std::move(**next);
  }
  if (bodiless) producing_->abandoned();
  producing_.reset();
  if (chunked && !bodiless) text += "0\r\n\r\n";
  const Code broken = co_await write(std::move(text));
  co_return broken || !keep_alive ? Next::hang_up : Next::request;
}

asio::awaitable<Code> Session::write(std::string text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    // A deadline for the piece, not for each byte: a client that takes a byte a minute would hold
    // the answer, and what it reads from, for ever.
    std::string_view piece = rest.substr(0, kPiece);
    rest.remove_prefix(piece.size());
    stream_.expires_after(host_.options.idle_timeout);
    while (!piece.empty()) {
      const auto part = asio::buffer(piece.data(), piece.size());
      auto [broken, sent] = co_await stream_.async_write_some(part, kAwait);
      if (broken == beast::error::timeout) ++host_.stats.timeouts;
      if (broken) co_return broken;
      piece.remove_prefix(sent);
    }
  }
  co_return Code();
}

// Reads on for a moment after a refusal: closing over unread bytes would reset the connection, and
// the client might never see the answer.
asio::awaitable<void> Session::linger() {
  Code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  buffer_.clear();
  std::string scratch(16u << 10, '\0');
  const auto room = asio::buffer(scratch);
  for (std::size_t drained = 0; drained < kLingerBytes && !host_.stopping;) {
    auto [ended, size] = co_await stream_.async_read_some(room, kAwait);
    if (ended) co_return;
    drained += size;
  }
}

}  // namespace

std::shared_ptr<HttpSession> HttpSession::make(tcp::socket socket, SessionHost& host) {
  return std::make_shared<Session>(std::move(socket), host);
}

}  // namespace logarithm::net
