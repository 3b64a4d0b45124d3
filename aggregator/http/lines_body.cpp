#include "aggregator/http/lines_body.h"

#include "aggregator/http/problem.h"

namespace logarithm::aggregator {

namespace {
constexpr const char* kEvicted =
    "the client took nothing for long and others wanted the place; go on after the last line";
}

boost::asio::awaitable<Result<std::optional<std::string>>> LinesBody::next() {
  using Piece = std::optional<std::string>;
  if (ended_) co_return Piece();
  if (!task_) {
    ended_ = true;
    co_return Piece("{\"error\":" + problem_text(503, kEvicted, std::nullopt, "") + "}\n");
  }
  place_->waiting_since.reset();
  place_->parked = false;
  auto working = work();
  auto piece = co_await std::move(working);
  if (ended_) {
    drop();  // the client may be slow with the last piece, too
  } else {
    place_->waiting_since = queries_.clock().now();
  }
  co_return piece;
}

boost::asio::awaitable<Result<std::optional<std::string>>> LinesBody::work() {
  using Piece = std::optional<std::string>;
  if (!first_ && !task_->finished()) {
    auto running = queries_.run(task_);
    Status status = co_await std::move(running);
    if (!status.ok()) {
      if (status.error().code() == ErrorCode::cancelled) co_return status.error();
      ended_ = true;
      const int code = status_of(status.error().code());
      co_return Piece(
          "{\"error\":" + problem_text(code, status.error().message(), std::nullopt, "") + "}\n");
    }
  }
  first_ = false;
  std::string piece = task_->take_text();
  if (task_->finished()) {
    ended_ = true;
    piece += end_record_(*task_);
  }
  co_return Piece(std::move(piece));
}

boost::asio::awaitable<Result<std::optional<std::string>>> RawBody::next() {
  if (!task_) co_return Error(ErrorCode::unavailable, kEvicted);
  place_->waiting_since.reset();
  place_->parked = false;
  auto working = work();
  auto piece = co_await std::move(working);
  place_->waiting_since = queries_.clock().now();
  co_return piece;
}

boost::asio::awaitable<Result<std::optional<std::string>>> RawBody::work() {
  using Piece = std::optional<std::string>;
  while (!task_->finished()) {
    auto running = queries_.run(task_);
    Status status = co_await std::move(running);
    if (!status.ok()) co_return status.error();
    std::string piece = task_->take_piece();
    if (!piece.empty()) co_return Piece(std::move(piece));
  }
  co_return Piece();
}

}  // namespace logarithm::aggregator
