#include "cli/tail_client.h"

#include "common/net/client.h"

namespace logarithm::cli {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kFirstPause(200);
constexpr std::chrono::seconds kLongestPause(10);
// A longer one goes as the first message: a server takes no such URL.
constexpr std::size_t kMostInUrl = 16u << 10;

}  // namespace

TailClient::TailClient(net::Url server, std::string token, Params params, Hooks hooks, Clock& clock,
                       std::uint64_t seed)
    : server_(std::move(server)),
      token_(std::move(token)),
      params_(std::move(params)),
      hooks_(std::move(hooks)),
      clock_(clock),
      backoff_(kFirstPause, kLongestPause, seed) {}

asio::awaitable<Result<bool>> TailClient::run() {
  while (true) {
    auto connection = connect_once();
    auto end = co_await std::move(connection);
    if (!end.ok()) co_return end.error();
    if (*end == End::done) co_return true;
    if (!is_lost_) hooks_.lost(why_);
    is_lost_ = true;
    co_await clock_.sleep_for(backoff_.next());
  }
}

asio::awaitable<Result<std::shared_ptr<net::WsConnection>>> TailClient::connect() {
  net::Url url = server_;
  while (url.path.ends_with('/')) url.path.pop_back();  // a prefix in front of our paths
  Params params = params_;
  const bool in_url = cursor_.size() <= kMostInUrl;
  if (!cursor_.empty()) params.emplace_back("cursor", in_url ? cursor_ : "-");
  url.path += "/api/v1/tail" + query_text(params);
  net::ClientOptions options;
  options.token = token_;
  auto connecting = net::ws_connect(std::move(url), std::string(), std::move(options));
  auto connected = co_await std::move(connecting);
  if (!connected.ok() || in_url) co_return connected;
  std::string cursor = cursor_;
  Status sent = co_await (*connected)->send_text(std::move(cursor));
  if (!sent.ok()) co_return sent.error();
  co_return connected;
}

asio::awaitable<Result<TailClient::End>> TailClient::connect_once() {
  auto connecting = connect();
  auto connected = co_await std::move(connecting);
  if (!connected.ok()) {
    const Error& error = connected.error();
    if (!was_connected_ || error.code() == ErrorCode::invalid) co_return error;
    why_ = error.message();
    co_return End::lost;
  }
  std::shared_ptr<net::WsConnection> connection = std::move(*connected);
  while (true) {
    auto message = co_await connection->receive();
    if (!message.ok()) {
      why_ = message.error().message();
      co_return End::lost;
    }
    auto go_on = take(*message);
    if (!go_on.ok()) co_return go_on.error();
    if (*go_on) continue;
    co_await connection->close("");
    co_return End::done;
  }
}

// False: the tail is to end.
Result<bool> TailClient::take(std::string_view text) {
  LGR_TRY(TailMessage message, parse_tail_message(text));
  if (message.error) {
    // It may be that there are too many tails at the moment; the server closes now.
    if (message.error->code() != ErrorCode::unavailable) return *message.error;
    return true;
  }
  backoff_.reset();
  was_connected_ = true;
  if (is_lost_) hooks_.found_again();
  is_lost_ = false;
  if (!hooks_.message(message, text)) return false;
  cursor_ = std::move(message.cursor);
  return true;
}

}  // namespace logarithm::cli
