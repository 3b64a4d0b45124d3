#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/io/service_manager.h"

namespace logarithm {

// Says "WATCHDOG=1" for as long as the loop it runs on turns, so that the service manager restarts
// a program whose loop hangs. Ends when it is cancelled, at once where nobody watches. Both outlive
// it.
inline boost::asio::awaitable<Status> feed_service_watchdog(const ServiceManager& service,
                                                            Clock& clock) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  const auto period = service.watchdog_period();
  if (!period) co_return Status();
  while ((co_await boost::asio::this_coro::cancellation_state).cancelled() ==
         boost::asio::cancellation_type::none) {
    service.notify("WATCHDOG=1");
    co_await clock.sleep_for(*period);
  }
  co_return Status();
}

}  // namespace logarithm
