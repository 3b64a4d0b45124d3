#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "common/base/result.h"

namespace logarithm::cli {

// Runs one coroutine at a time to its end from straight-line code. SIGINT and SIGTERM end it with
// Error{cancelled}, so that what was started can be removed on the way out. Single-threaded.
class Runner {
 public:
  Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  boost::asio::io_context& io() { return io_; }
  bool interrupted() const { return interrupted_; }

  template <typename T>
  Result<T> run(boost::asio::awaitable<Result<T>> task) {
    std::optional<Result<T>> result;
    boost::asio::co_spawn(io_, keep(std::move(task), result),
                          [this](const std::exception_ptr&) { io_.stop(); });
    loop();
    if (interrupted_) return Error(ErrorCode::cancelled, "interrupted");
    if (!result) return Error(ErrorCode::io, "internal error");
    return std::move(*result);
  }

  // Lets `pause` pass; Error{cancelled} when interrupted meanwhile.
  Status wait(std::chrono::milliseconds pause);

 private:
  template <typename T>
  static boost::asio::awaitable<void> keep(boost::asio::awaitable<Result<T>> task,
                                           std::optional<Result<T>>& result) {
    result.emplace(co_await std::move(task));
  }
  void loop();

  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  bool interrupted_ = false;
};

}  // namespace logarithm::cli
