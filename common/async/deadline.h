#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <utility>

#include "common/base/clock.h"

namespace logarithm {

namespace deadline_detail {

// The clock's turn: ends with Error{timeout} in what it returns only when the time has come.
inline boost::asio::awaitable<Status> wait(Clock& clock, MonotonicTime time) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_await clock.sleep_until(time);
  if (clock.now() >= time) co_return Error(ErrorCode::timeout, "deadline passed");
  co_return Error(ErrorCode::cancelled, "cancelled");
}

}  // namespace deadline_detail

// `operation`, cancelled (terminal) when `time` comes first; then Error{timeout}, with `what` in
// front. Cancelling the caller cancels the operation. `clock` must outlive the call. The operation
// must end when it is cancelled: this waits for its end, so that nothing runs on behind the caller.
template <typename T>
boost::asio::awaitable<Result<T>> with_deadline(Clock& clock, MonotonicTime time, std::string what,
                                                boost::asio::awaitable<Result<T>> operation) {
  using boost::asio::experimental::awaitable_operators::operator||;
  auto both = std::move(operation) || deadline_detail::wait(clock, time);
  auto first = co_await std::move(both);
  if (first.index() == 0) co_return std::move(std::get<0>(first));
  co_return std::get<1>(first).error().with_context(what);
}

inline boost::asio::awaitable<Status> with_deadline(Clock& clock, MonotonicTime time,
                                                    std::string what,
                                                    boost::asio::awaitable<Status> operation) {
  using boost::asio::experimental::awaitable_operators::operator||;
  auto both = std::move(operation) || deadline_detail::wait(clock, time);
  auto first = co_await std::move(both);
  if (first.index() == 0) co_return std::move(std::get<0>(first));
  co_return std::get<1>(first).error().with_context(what);
}

}  // namespace logarithm
