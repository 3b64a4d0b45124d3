#include "common/async/deadline.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "common/async/task_group.h"
#include "tests/support/manual_clock.h"

namespace logarithm {
namespace {

namespace asio = boost::asio;

asio::awaitable<Result<int>> answer_after(Clock& clock, std::chrono::seconds wait, bool& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const MonotonicTime due = clock.now() + wait;
  co_await clock.sleep_until(due);
  ended = true;
  if (clock.now() < due) co_return Error(ErrorCode::cancelled, "stopped");
  co_return 42;
}

asio::awaitable<Status> record(test::ManualClock& clock, std::chrono::seconds wait, bool& ended,
                               std::optional<Result<int>>& out) {
  const MonotonicTime deadline = clock.now() + std::chrono::seconds(10);
  auto operation = answer_after(clock, wait, ended);
  out.emplace(co_await with_deadline(clock, deadline, "ask", std::move(operation)));
  co_return Status();
}

struct Fixture {
  asio::io_context io;
  test::ManualClock clock;
  TaskGroup group{io.get_executor()};
  bool ended = false;
  std::optional<Result<int>> out;

  void start(std::chrono::seconds wait) {
    group.spawn("asks", record(clock, wait, ended, out));
    io.poll();
  }
};

}  // namespace

TEST_CASE("with_deadline: an operation that is in time gives its value") {
  Fixture f;
  f.start(std::chrono::seconds(9));
  CHECK_FALSE(f.out);

  f.clock.advance(f.io, std::chrono::seconds(9));

  REQUIRE(f.out);
  CHECK(f.out->value() == 42);
  CHECK(f.group.size() == 0);
}

TEST_CASE("with_deadline: a late operation is cancelled and gives Error{timeout}") {
  Fixture f;
  f.start(std::chrono::seconds(60));

  f.clock.advance(f.io, std::chrono::seconds(10));

  REQUIRE(f.out);
  REQUIRE_FALSE(f.out->ok());
  CHECK(f.out->error().to_string() == "timeout: ask: deadline passed");
  CHECK(f.ended);
  CHECK(f.group.size() == 0);
}

TEST_CASE("with_deadline: cancelling the caller cancels the operation") {
  Fixture f;
  f.start(std::chrono::seconds(60));

  f.group.request_stop();
  f.io.restart();
  f.io.poll();

  CHECK(f.ended);
  CHECK(f.group.size() == 0);
}

}  // namespace logarithm
