#include "common/async/worker_pool.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "tests/support/run_coro.h"

namespace logarithm {
namespace {

namespace asio = boost::asio;

Result<std::string> blocking_name(BlockingToken&, std::thread::id& ran_on) {
  ran_on = std::this_thread::get_id();
  return std::string("value");
}

asio::awaitable<bool> ask(WorkerPool& pool, std::thread::id& ran_on, std::thread::id& resumed_on) {
  auto work = [&ran_on](BlockingToken& token) { return blocking_name(token, ran_on); };
  auto result = co_await pool.run(work);
  resumed_on = std::this_thread::get_id();
  co_return result.ok() && *result == "value";
}

asio::awaitable<int> ask_many(WorkerPool& pool, std::vector<int>& order) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    auto work = [i, &order](BlockingToken&) {
      order.push_back(i);
      return i;
    };
    sum += co_await pool.run(work);
  }
  co_return sum;
}

}  // namespace

TEST_CASE("WorkerPool: run() works on a worker and resumes on the caller's executor") {
  asio::io_context io;
  WorkerPool pool(2);
  std::thread::id ran_on, resumed_on;

  CHECK(test::run_coro(io, ask(pool, ran_on, resumed_on)));

  CHECK(ran_on != std::this_thread::get_id());
  CHECK(resumed_on == std::this_thread::get_id());
}

TEST_CASE("WorkerPool: results come back, many times over") {
  asio::io_context io;
  WorkerPool pool(1);
  std::vector<int> order;

  CHECK(test::run_coro(io, ask_many(pool, order)) == 4950);
  CHECK(order.size() == 100);
}

TEST_CASE("WorkerPool: one thread keeps the order, and the destructor waits for all") {
  std::vector<int> order;
  {
    WorkerPool pool(1);
    for (int i = 0; i < 50; ++i) {
      pool.post([i, &order](BlockingToken&) {
        order.push_back(i);
        return Status();
      });
    }
  }
  REQUIRE(order.size() == 50);
  for (int i = 0; i < 50; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("WorkerPool: run_and_wait() gives the function's value") {
  WorkerPool pool(1);
  auto work = [](BlockingToken&) { return Result<int>(5); };

  CHECK(pool.run_and_wait(work).value() == 5);
}

}  // namespace logarithm
