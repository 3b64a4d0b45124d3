#include "aggregator/http/ws_tail.h"

#include <boost/asio/this_coro.hpp>
#include <tuple>
#include <variant>

#include "aggregator/http/json_text.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/filters.h"
#include "common/async/task_group.h"
#include "common/base/logging.h"
#include "common/config/units.h"

namespace logarithm::aggregator {
namespace {

namespace asio = boost::asio;

// "cursor=-": it comes as the first message, since a job of thousands of streams has one that fits
// into no URL.
constexpr std::string_view kCursorFollows = "-";
constexpr std::chrono::seconds kDefaultBehind{60};
// Cursors of big jobs are kilobytes: messages are made so rare that they cost at most this.
constexpr std::uint64_t kCursorBytesPerSecond = 64u << 10;

net::Response bad_cursor() {
  return problem(400, "the cursor is damaged or belongs to another query", std::nullopt, "cursor");
}

Status take_cursor(std::string_view text, TailQuery& query) {
  auto cursor = parse_tail_cursor(text);
  if (!cursor.ok()) return cursor.error();
  if (cursor->query_hash != query.query_hash) {
    return Error(ErrorCode::invalid, "the cursor belongs to another query");
  }
  query.cursor = std::move(*cursor);
  return {};
}

using Parsed = std::variant<TailQuery, net::Response>;

Parsed parse(const net::Request& request, UnixNanos now) {
  TailQuery query;
  query.job.job = request.param("job").value_or("");
  if (query.job.job.empty()) return problem(400, "job is needed", std::nullopt, "job");
  query.query_hash = hash_query(query.job.job, request.query);
  ScanPlan plan;
  if (auto refused = read_filters(request, now, plan)) return std::move(*refused);
  query.predicate = std::move(plan.predicate);
  query.start = plan.start;
  query.end = plan.end;
  query.max_behind = kDefaultBehind;
  if (const auto text = request.param("max_behind")) {
    auto behind = config::parse_duration(std::string(*text));
    if (!behind.ok()) {
      return problem(400, "max_behind: " + behind.error().message(), std::nullopt, "max_behind");
    }
    query.max_behind = *behind;
  }
  const auto cursor = request.param("cursor");
  if (cursor && *cursor != kCursorFollows && !take_cursor(*cursor, query).ok()) return bad_cursor();
  return query;
}

std::string message_of(TailPiece piece) {
  std::string out;
  out.reserve(piece.lines.size() + piece.cursor.size() + 80);
  out += "{\"lines\":[";
  out += piece.lines;
  out += "],";
  if (piece.skipped > 0) out += "\"skipped\":" + std::to_string(piece.skipped) + ",";
  if (piece.unreadable > 0) out += "\"unreadable\":" + std::to_string(piece.unreadable) + ",";
  out += piece.live ? "\"live\":true," : "\"live\":false,";
  out += "\"cursor\":\"" + piece.cursor + "\"}";
  return out;
}

std::string error_message(int status, std::string_view detail) {
  return "{\"error\":" + problem_text(status, detail, std::nullopt, "") + "}";
}

}  // namespace

std::string encode_line(const Line& line, const StreamJoin& join) {
  JsonWriter out;
  write_line(out, line, join);
  return out.take();
}

std::optional<net::Response> TailEndpoint::refuse(const net::Request& request) {
  auto parsed = parse(request, clock_.wall_now());
  if (auto* response = std::get_if<net::Response>(&parsed)) return std::move(*response);
  return std::nullopt;
}

asio::awaitable<void> TailEndpoint::serve(net::Request request, std::string tenant,
                                          std::shared_ptr<net::WsConnection> connection) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto parsed = parse(request, clock_.wall_now());
  auto* query = std::get_if<TailQuery>(&parsed);
  if (query == nullptr) co_return;  // refuse() has said so before
  query->job.tenant = std::move(tenant);
  if (request.param("cursor") == kCursorFollows) {
    auto first = co_await connection->receive();
    if (!first.ok()) co_return;
    if (Status good = take_cursor(*first, *query); !good.ok()) {
      std::string message = error_message(400, good.error().message());
      std::ignore = co_await connection->send_text(std::move(message));
      co_return;
    }
  }
  auto tail = hub_.subscribe(std::move(*query));
  if (tail == nullptr) {
    std::string message = error_message(503, "too many tails");
    std::ignore = co_await connection->send_text(std::move(message));
    co_return;
  }
  LGR_DEBUG("tail begins peer={}", connection->peer());
  TaskGroup sender(co_await asio::this_coro::executor);
  sender.spawn("tail", send_pieces(std::move(tail), connection));
  // Clients have nothing to say; what comes is taken so that pings and their leaving are noticed.
  while (true) {
    auto message = co_await connection->receive();
    if (!message.ok()) break;
  }
  connection->cancel();
  sender.request_stop();
  Status joined = co_await sender.join();
  if (!joined.ok()) LGR_WARN("tail failed error={}", joined.error().message());
  LGR_DEBUG("tail ended peer={}", connection->peer());
}

asio::awaitable<Status> TailEndpoint::send_pieces(std::shared_ptr<TailHub::Subscription> tail,
                                                  std::shared_ptr<net::WsConnection> connection) {
  co_await asio::this_coro::throw_if_cancelled(false);
  MonotonicTime not_before = clock_.now();
  while (true) {
    co_await clock_.sleep_until(not_before);
    auto piece = co_await hub_.next(tail);
    if (!piece.ok() && piece.error().code() == ErrorCode::cancelled) co_return Status();
    if (!piece.ok()) {
      std::string message = error_message(status_of(piece.error().code()), piece.error().message());
      std::ignore = co_await connection->send_text(std::move(message));
      co_await connection->close("");
      co_return Status();
    }
    const std::chrono::milliseconds pause(piece->cursor.size() * 1000 / kCursorBytesPerSecond);
    std::string message = message_of(std::move(*piece));
    const auto held = hub_.reserve(message.size());
    if (held.count() > 0) co_await clock_.sleep_for(held);
    Status sent = co_await connection->send_text(std::move(message));
    if (!sent.ok()) co_return Status();  // the reader of the socket ends the rest
    not_before = clock_.now() + pause;
  }
}

}  // namespace logarithm::aggregator
