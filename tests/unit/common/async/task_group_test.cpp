#include "common/async/task_group.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>

#include "tests/support/manual_clock.h"
#include "tests/support/run_coro.h"

namespace logarithm {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> forever(Clock& clock, int& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await clock.sleep_until(MonotonicTime::max());
  ++ended;
}

// Does not look at cancellation at all: the next await throws.
asio::awaitable<void> careless(Clock& clock) {
  for (;;) co_await clock.sleep_for(std::chrono::seconds(1));
}

asio::awaitable<Status> fails(std::string what) { co_return Error(ErrorCode::corrupt, what); }

asio::awaitable<void> throws() {
  throw std::runtime_error("boom");
  co_return;
}

asio::awaitable<Status> parent(Clock& clock, int& ended) {
  TaskGroup inner(co_await asio::this_coro::executor);
  inner.spawn("child", forever(clock, ended));
  co_return co_await inner.join();
}

}  // namespace

TEST_CASE("TaskGroup: a stop reaches all children and join() returns after the last") {
  asio::io_context io;
  test::ManualClock clock;
  TaskGroup group(io.get_executor());
  int ended = 0;
  for (int i = 0; i < 3; ++i) group.spawn("waits", forever(clock, ended));
  group.spawn("careless", careless(clock));
  io.poll();
  CHECK(group.size() == 4);

  group.request_stop();

  CHECK(test::run_coro(io, group.join()).ok());
  CHECK(ended == 3);
}

TEST_CASE("TaskGroup: the first failure is kept, with the child's name, and others run on") {
  asio::io_context io;
  test::ManualClock clock;
  TaskGroup group(io.get_executor());
  int ended = 0;
  group.spawn("waits", forever(clock, ended));
  group.spawn("reader", fails("torn"));
  group.spawn("writer", throws());
  io.poll();
  CHECK(group.size() == 1);

  group.request_stop();
  Status status = test::run_coro(io, group.join());

  REQUIRE_FALSE(status.ok());
  CHECK(status.error().to_string() == "corrupt: reader: torn");
}

TEST_CASE("TaskGroup: an exception is a failure") {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  group.spawn("writer", throws());

  Status status = test::run_coro(io, group.join());

  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message() == "writer: boom");
}

TEST_CASE("TaskGroup: a child that is spawned after the stop ends at once") {
  asio::io_context io;
  test::ManualClock clock;
  TaskGroup group(io.get_executor());
  group.request_stop();
  group.spawn("late", careless(clock));

  CHECK(test::run_coro(io, group.join()).ok());
}

TEST_CASE("TaskGroup: cancelling the waiter stops the children and waits for them") {
  asio::io_context io;
  test::ManualClock clock;
  TaskGroup outer(io.get_executor());
  int ended = 0;
  outer.spawn("parent", parent(clock, ended));
  io.poll();
  CHECK(ended == 0);

  outer.request_stop();

  CHECK(test::run_coro(io, outer.join()).ok());
  CHECK(ended == 1);
}

TEST_CASE("TaskGroup: join() of an empty group returns at once") {
  asio::io_context io;
  TaskGroup group(io.get_executor());

  CHECK(test::run_coro(io, group.join()).ok());
}

}  // namespace logarithm
