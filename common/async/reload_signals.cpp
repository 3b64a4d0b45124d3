#include "common/async/reload_signals.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <string>
#include <utility>

namespace logarithm {

namespace asio = boost::asio;

ReloadSignals::ReloadSignals(asio::io_context& io, TaskGroup& tasks, const ServiceManager& service,
                             const Clock& clock, Reload reload)
    : io_(io), tasks_(tasks), service_(service), clock_(clock), reload_(std::move(reload)) {}

asio::awaitable<Status> ReloadSignals::watch() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::signal_set signals(io_, SIGHUP);
  while (!stopped_) {
    auto [broken, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
    if (broken || stopped_) break;
    wanted_ = true;
    if (!std::exchange(running_, true)) tasks_.spawn("reload", reload_while_wanted());
  }
  co_return Status();
}

asio::awaitable<Status> ReloadSignals::reload_while_wanted() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (std::exchange(wanted_, false) && !stopped_) {
    const std::string entered = "RELOADING=1\nMONOTONIC_USEC=" +
                                std::to_string(clock_.now().time_since_epoch().count() / 1000);
    service_.notify(entered);
    auto reloaded = reload_();
    co_await std::move(reloaded);
    service_.notify("READY=1");
  }
  running_ = false;
  co_return Status();
}

}  // namespace logarithm
