#include "common/net/connect.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/async/deadline.h"
#include "common/net/http_text.h"

namespace logarithm::net {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

Error failure(const boost::system::error_code& code) {
  if (code == asio::error::operation_aborted) return Error(ErrorCode::cancelled, "cancelled");
  return Error(ErrorCode::unavailable, code.message());
}

asio::awaitable<Result<tcp::socket>> resolve_and_connect(std::string host, std::uint16_t port) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  auto [unresolved, addresses] =
      co_await resolver.async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                                      asio::as_tuple(asio::use_awaitable));
  if (unresolved) co_return failure(unresolved);
  tcp::socket socket(executor);
  auto [refused, endpoint] =
      co_await asio::async_connect(socket, addresses, asio::as_tuple(asio::use_awaitable));
  if (refused) co_return failure(refused);
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  co_return std::move(socket);
}

}  // namespace

asio::awaitable<Result<tcp::socket>> connect(std::string host, std::uint16_t port,
                                             std::chrono::milliseconds timeout) {
  SystemClock clock;
  const std::string what = "connect to " + authority(host, port);
  auto operation = resolve_and_connect(std::move(host), port);
  auto socket = co_await with_deadline(clock, clock.now() + timeout, what, std::move(operation));
  if (socket.ok() || socket.error().code() == ErrorCode::timeout) co_return std::move(socket);
  co_return socket.error().with_context(what);
}

}  // namespace logarithm::net
