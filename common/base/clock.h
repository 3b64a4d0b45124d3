#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "common/base/types.h"

namespace logarithm {

using MonotonicTime = std::chrono::steady_clock::time_point;

// Time as a parameter: everything that waits or stamps takes a Clock&, so that tests can move it.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime now() const = 0;
  virtual UnixNanos wall_now() const = 0;
  // Completes at `time`; cancellation ends it early (the caller checks its own stop condition).
  virtual boost::asio::awaitable<void> sleep_until(MonotonicTime time) = 0;

  boost::asio::awaitable<void> sleep_for(std::chrono::nanoseconds duration) {
    return sleep_until(now() + duration);
  }
};

class SystemClock final : public Clock {
 public:
  MonotonicTime now() const override;
  UnixNanos wall_now() const override;
  boost::asio::awaitable<void> sleep_until(MonotonicTime time) override;
};

}  // namespace logarithm
