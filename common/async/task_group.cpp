#include "common/async/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace logarithm {
namespace asio = boost::asio;

namespace {

asio::awaitable<Status> with_status(asio::awaitable<void> task) {
  co_await std::move(task);
  co_return Status();
}

// What a child threw, as an Error. A cancelled coroutine throws operation_aborted at its next await
// unless it asked not to.
Error describe(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& problem) {
    if (problem.code() == asio::error::operation_aborted) {
      return Error(ErrorCode::cancelled, "cancelled");
    }
    return Error(ErrorCode::io, problem.what());
  } catch (const std::exception& problem) {
    return Error(ErrorCode::io, problem.what());
  } catch (...) {
    return Error(ErrorCode::io, "unknown exception");
  }
}

}  // namespace

TaskGroup::TaskGroup(asio::any_io_executor executor)
    : executor_(executor), idle_(std::move(executor), asio::steady_timer::time_point::max()) {}

TaskGroup::~TaskGroup() { LGR_ASSERT(children_.empty()); }

TaskGroup::Children::iterator TaskGroup::add(std::string name) {
  children_.emplace_back();
  auto child = std::prev(children_.end());
  child->name = std::move(name);
  return child;
}

void TaskGroup::spawn(std::string name, asio::awaitable<void> task) {
  spawn(std::move(name), with_status(std::move(task)));
}

void TaskGroup::spawn(std::string name, asio::awaitable<Status> task) {
  auto child = add(std::move(name));
  asio::co_spawn(executor_, std::move(task),
                 asio::bind_cancellation_slot(
                     child->signal.slot(), [this, child](std::exception_ptr thrown, Status status) {
                       ended(child, std::move(thrown), std::move(status));
                     }));
  // co_spawn posts: the child has not run yet, so it is still there.
  if (stopping_) child->signal.emit(asio::cancellation_type::terminal);
}

void TaskGroup::ended(Children::iterator child, std::exception_ptr thrown, Status status) {
  if (thrown) status = describe(thrown);
  if (!status.ok() && status.error().code() != ErrorCode::cancelled && !failure_) {
    failure_ = status.error().with_context(child->name);
  }
  children_.erase(child);
  if (children_.empty()) idle_.cancel();
}

void TaskGroup::request_stop() {
  stopping_ = true;
  // A handler that runs inline may end children; the list's other nodes stay where they are.
  for (auto child = children_.begin(); child != children_.end();) {
    auto next = std::next(child);
    child->signal.emit(asio::cancellation_type::terminal);
    child = next;
  }
}

asio::awaitable<Status> TaskGroup::join() {
  const bool throwing = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  bool passed_on = false;
  while (!children_.empty()) {
    auto state = co_await asio::this_coro::cancellation_state;
    if (!passed_on && state.cancelled() != asio::cancellation_type::none) {
      passed_on = true;
      request_stop();
      continue;
    }
    if (passed_on) {
      // From here on nothing may end the wait early, so it has no cancellation slot.
      co_await idle_.async_wait(asio::bind_cancellation_slot(asio::cancellation_slot(),
                                                             asio::as_tuple(asio::use_awaitable)));
    } else {
      co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throwing);
  if (failure_) co_return *failure_;
  co_return Status();
}

}  // namespace logarithm
