#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "common/async/blocking.h"

namespace logarithm {

template <typename T>
inline constexpr bool is_awaitable_v = false;
template <typename T, typename E>
inline constexpr bool is_awaitable_v<boost::asio::awaitable<T, E>> = true;

// Threads that may block. The only maker of BlockingTokens. Thread-safe; the destructor waits for
// what was started. With one thread, functions run in the order in which they were given.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads) : pool_(threads) {}
  ~WorkerPool() { pool_.wait(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `function(token)` on a worker and resumes the awaiting coroutine, on its own executor,
  // with the result. The function owns what it touches (it outlives a cancelled waiter) and returns
  // a default-constructible or Result value; it must not throw.
  template <typename Function>
  auto run(Function function)
      -> boost::asio::awaitable<std::invoke_result_t<Function&, BlockingToken&>> {
    using Value = std::invoke_result_t<Function&, BlockingToken&>;
    static_assert(!is_awaitable_v<Value>,
                  "a worker function must not return an awaitable: it would run elsewhere");
    static_assert(!std::is_void_v<Value>, "return a Status");
    auto shared = std::make_shared<Function>(std::move(function));
    auto initiate = [this, shared](auto handler) {
      auto executor = boost::asio::get_associated_executor(handler);
      boost::asio::post(pool_, [shared, executor, handler = std::move(handler)]() mutable {
        BlockingToken token;
        auto value = std::make_unique<Value>((*shared)(token));
        shared.reset();
        boost::asio::post(executor,
                          [handler = std::move(handler), value = std::move(value)]() mutable {
                            std::move(handler)(std::move(value));
                          });
      });
    };
    auto value = co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                                      void(std::unique_ptr<Value>)>(
        initiate, boost::asio::use_awaitable);
    co_return std::move(*value);
  }

  // Runs `function(token)` on a worker without telling anyone.
  template <typename Function>
  void post(Function function) {
    using Value = std::invoke_result_t<Function&, BlockingToken&>;
    static_assert(!is_awaitable_v<Value>,
                  "a worker function must not return an awaitable: it would run elsewhere");
    auto shared = std::make_shared<Function>(std::move(function));
    boost::asio::post(pool_, [shared] {
      BlockingToken token;
      static_cast<void>((*shared)(token));
    });
  }

  // Runs `function(token)` on a worker and waits: for main() and tests, never on an I/O thread.
  template <typename Function>
  auto run_and_wait(Function function) -> std::invoke_result_t<Function&, BlockingToken&> {
    using Value = std::invoke_result_t<Function&, BlockingToken&>;
    static_assert(!is_awaitable_v<Value>,
                  "a worker function must not return an awaitable: it would run elsewhere");
    std::promise<Value> promise;
    auto future = promise.get_future();
    boost::asio::post(pool_, [&] {
      BlockingToken token;
      if constexpr (std::is_void_v<Value>) {
        function(token);
        promise.set_value();
      } else {
        promise.set_value(function(token));
      }
    });
    return future.get();
  }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace logarithm
