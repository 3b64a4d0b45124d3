#include "common/net/http_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_set>
#include <utility>

#include "common/async/task_group.h"
#include "common/base/logging.h"
#include "common/net/http_session.h"
#include "common/net/http_text.h"

namespace logarithm::net {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMostTurnedAway = 64;  // at once; beyond it the socket is just closed
constexpr std::chrono::milliseconds kAcceptPause(100);

class Server final : public HttpServer {
 public:
  Server(asio::io_context& io, tcp::acceptor acceptor, HttpServerOptions options,
         HttpHandler& handler)
      : acceptor_(std::move(acceptor)),
        endpoint_(acceptor_.local_endpoint()),
        timer_(io),
        host_{handler, std::move(options), HttpServerStats(), false},
        group_(io.get_executor()) {}

  std::uint16_t port() const override { return endpoint_.port(); }
  std::string address() const override { return endpoint_.address().to_string(); }
  HttpServerStats stats() const override {
    HttpServerStats stats = host_.stats;
    stats.open = sessions_.size();
    return stats;
  }

  asio::awaitable<void> run() override;
  void stop(std::chrono::milliseconds grace) override;

 private:
  asio::awaitable<void> accept_all();
  void admit(tcp::socket socket);
  asio::awaitable<void> serve(std::shared_ptr<HttpSession> session);
  asio::awaitable<void> turn_away(std::shared_ptr<HttpSession> session);
  asio::awaitable<void> cut_after(std::chrono::milliseconds grace);
  static asio::awaitable<void> close(std::shared_ptr<WsConnection> connection) {
    co_await connection->close("the server stops");
  }
  void cut_all() {
    for (HttpSession* session : sessions_) session->cut();
    group_.request_stop();
  }

  tcp::acceptor acceptor_;
  tcp::endpoint endpoint_;
  asio::steady_timer timer_;  // pause after a failed accept, then the grace of a stop
  SessionHost host_;
  std::unordered_set<HttpSession*> sessions_;
  std::size_t turning_away_ = 0;
  RateLimit accept_warning_;
  TaskGroup group_;
};

asio::awaitable<void> Server::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await accept_all();
  if (!host_.stopping) {  // cancelled
    host_.stopping = true;
    acceptor_.close();
    cut_all();
  }
  auto ended = co_await group_.join();
  if (!ended.ok()) LGR_ERROR("http server error={}", ended.error().message());
}

asio::awaitable<void> Server::accept_all() {
  while (!host_.stopping) {
    auto [failed, socket] = co_await acceptor_.async_accept(kAwait);
    auto state = co_await asio::this_coro::cancellation_state;
    if (host_.stopping || state.cancelled() != asio::cancellation_type::none) co_return;
    if (!failed) {
      admit(std::move(socket));
      continue;
    }
    std::uint64_t held = 0;
    if (accept_warning_.allow(held)) {
      LGR_WARN("accept failed error={} suppressed={} trying again", failed.message(), held);
    }
    timer_.expires_after(kAcceptPause);  // out of descriptors: they come back when others close
    co_await timer_.async_wait(kAwait);
  }
}

void Server::admit(tcp::socket socket) {
  ++host_.stats.connections;
  if (sessions_.size() < host_.options.max_connections) {
    auto session = HttpSession::make(std::move(socket), host_);
    sessions_.insert(session.get());
    group_.spawn("connection", serve(std::move(session)));
    return;
  }
  ++host_.stats.refused;
  if (turning_away_ >= kMostTurnedAway) return;
  ++turning_away_;
  group_.spawn("refused connection", turn_away(HttpSession::make(std::move(socket), host_)));
}

asio::awaitable<void> Server::serve(std::shared_ptr<HttpSession> session) {
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await session->run();
  } catch (const std::exception& problem) {
    LGR_ERROR("http connection error={}", problem.what());
  }
  sessions_.erase(session.get());
  if (host_.stopping && sessions_.empty()) timer_.cancel();
}

asio::awaitable<void> Server::turn_away(std::shared_ptr<HttpSession> session) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await session->turn_away();
  --turning_away_;
}

void Server::stop(std::chrono::milliseconds grace) {
  if (host_.stopping) {
    cut_all();  // asked again: now
    return;
  }
  host_.stopping = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  for (HttpSession* session : sessions_) {
    session->wind_down();
    auto connection = session->websocket();
    if (connection) group_.spawn("close", close(std::move(connection)));
  }
  group_.spawn("grace", cut_after(grace));
}

asio::awaitable<void> Server::cut_after(std::chrono::milliseconds grace) {
  co_await asio::this_coro::throw_if_cancelled(false);
  timer_.expires_after(grace);
  if (!sessions_.empty()) co_await timer_.async_wait(kAwait);
  cut_all();
}

Result<tcp::endpoint> endpoint_of(const HttpServerOptions& options) {
  boost::system::error_code wrong;
  const std::string text = options.address == "localhost" ? "127.0.0.1" : options.address;
  const auto address = asio::ip::make_address(text, wrong);
  if (wrong) return Error(ErrorCode::invalid, "'" + options.address + "' is not an IP address");
  return tcp::endpoint(address, options.port);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(asio::io_context& io,
                                                       HttpServerOptions options,
                                                       HttpHandler& handler) {
  LGR_TRY(tcp::endpoint endpoint, endpoint_of(options));
  tcp::acceptor acceptor(io);
  boost::system::error_code failed;
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) {
    return Error(ErrorCode::unavailable,
                 "listen on " + authority(options.address, options.port) + ": " + failed.message());
  }
  return std::unique_ptr<HttpServer>(
      std::make_unique<Server>(io, std::move(acceptor), std::move(options), handler));
}

}  // namespace logarithm::net
