#pragma once

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace logarithm::test {

// Runs `task` on `io` until nothing is left to do and gives what it returned; a task that never
// ends or throws fails the test. For coroutines that need no real waiting, or loopback sockets.
template <typename T>
T run_coro(boost::asio::io_context& io, boost::asio::awaitable<T> task) {
  std::optional<T> result;
  std::exception_ptr failure;
  auto keep = [](boost::asio::awaitable<T> inner, std::optional<T>& out,
                 std::exception_ptr& thrown) -> boost::asio::awaitable<void> {
    try {
      out.emplace(co_await std::move(inner));
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  auto ended = [](const std::exception_ptr&) {};
  boost::asio::co_spawn(io, keep(std::move(task), result, failure), ended);
  io.restart();
  io.run();
  if (failure) std::rethrow_exception(failure);
  REQUIRE(result.has_value());
  return std::move(*result);
}

inline void run_coro(boost::asio::io_context& io, boost::asio::awaitable<void> task) {
  auto flag = [](boost::asio::awaitable<void> inner) -> boost::asio::awaitable<bool> {
    co_await std::move(inner);
    co_return true;
  };
  run_coro<bool>(io, flag(std::move(task)));
}

}  // namespace logarithm::test
