#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "common/async/task_group.h"
#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/io/service_manager.h"

namespace logarithm {

// SIGHUP: one reload at a time; signals that come during one are one more, however many they are.
// The service manager is told when it begins and when it is over. All that is given outlives it.
// On the thread of `io` only.
class ReloadSignals {
 public:
  // `reload` keeps its own result: a reload that fails ends nothing.
  using Reload = std::function<boost::asio::awaitable<void>()>;
  ReloadSignals(boost::asio::io_context& io, TaskGroup& tasks, const ServiceManager& service,
                const Clock& clock, Reload reload);

  // Until it is cancelled, or a signal after stop().
  boost::asio::awaitable<Status> watch();
  // No reload begins from now on.
  void stop() { stopped_ = true; }

 private:
  boost::asio::awaitable<Status> reload_while_wanted();

  boost::asio::io_context& io_;
  TaskGroup& tasks_;
  const ServiceManager& service_;
  const Clock& clock_;
  Reload reload_;
  bool running_ = false, wanted_ = false, stopped_ = false;
};

}  // namespace logarithm
