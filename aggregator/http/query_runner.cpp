#include "aggregator/http/query_runner.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

namespace logarithm::aggregator {

std::shared_ptr<void> QueryRunner::try_admit() {
  if (*running_ >= options_.max_concurrent) {
    ++refused_;
    return nullptr;
  }
  ++total_;
  ++*running_;
  return std::shared_ptr<void>(running_.get(), [running = running_](void*) { --*running; });
}

boost::asio::awaitable<Status> QueryRunner::run(std::shared_ptr<QueryTask> task) {
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  const MonotonicTime begin = clock_.now(), deadline = begin + options_.deadline;
  while (true) {
    if (state.cancelled() != boost::asio::cancellation_type::none) task->cancel();
    if (task->cancelled()) co_return Error(ErrorCode::cancelled, "the client has left");
    const MonotonicTime until = std::min(clock_.now() + options_.slice, deadline);
    Clock* clock = &clock_;
    auto turn = [task, clock, until](BlockingToken& token) -> Result<bool> {
      const auto time_is_up = [&] { return task->cancelled() || clock->now() >= until; };
      return task->step(token, time_is_up);
    };
    auto stepped = co_await pool_.run(std::move(turn));
    if (!stepped.ok()) co_return stepped.error();
    if (*stepped) break;
    if (clock_.now() >= deadline) {
      ++timeouts_;
      co_return Error(ErrorCode::timeout,
                      "the query took longer than " +
                          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                             options_.deadline)
                                             .count()) +
                          " ms; narrow it by time, rank or iteration");
    }
  }
  seconds_.observe(clock_.now() - begin);
  co_return Status();
}

}  // namespace logarithm::aggregator
