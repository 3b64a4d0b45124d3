#pragma once

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <vector>

#include "common/base/clock.h"

namespace logarithm::test {

// Time that moves only by advance(). Single-threaded: use with io_context::poll().
class ManualClock final : public Clock {
 public:
  MonotonicTime now() const override { return now_; }
  UnixNanos wall_now() const override { return wall_; }
  boost::asio::awaitable<void> sleep_until(MonotonicTime time) override {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                    MonotonicTime::max());
    if (time <= now_) co_return;
    sleepers_.push_back({time, &timer});
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    std::erase_if(sleepers_, [&](const Sleeper& s) { return s.timer == &timer; });
  }

  void set_wall(UnixNanos wall) { wall_ = wall; }

  // Moves both clocks, wakes what is due and runs what became ready.
  void advance(boost::asio::io_context& io, std::chrono::nanoseconds by) {
    now_ += by;
    wall_ += by.count();
    for (const Sleeper& sleeper : std::vector<Sleeper>(sleepers_)) {
      if (sleeper.time <= now_) sleeper.timer->cancel();
    }
    io.restart();
    io.poll();
  }

 private:
  struct Sleeper {
    MonotonicTime time;
    boost::asio::steady_timer* timer;
  };
  MonotonicTime now_{std::chrono::seconds(1000)};
  UnixNanos wall_ = 1'796'000'000'000'000'000;
  std::vector<Sleeper> sleepers_;
};

}  // namespace logarithm::test
