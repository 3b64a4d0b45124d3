#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace logarithm {

// Tells systemd how the service is: the datagrams of sd_notify(3), which its manual offers for
// programs that do not link libsystemd. Outside of a service everything is a no-op. Any thread.
class ServiceManager {
 public:
  // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static ServiceManager from_environment();
  ServiceManager(std::string socket, std::optional<std::chrono::microseconds> watchdog)
      : socket_(std::move(socket)), watchdog_(watchdog) {}

  // "READY=1", "STOPPING=1", "RELOADING=1", "WATCHDOG=1", "STATUS=…"; lines of one message. False
  // when nobody got it. Does not block: a service manager that does not read is no reason to wait.
  bool notify(std::string_view state) const;

  // How often "WATCHDOG=1" is due (half of what the manager waits for); nullopt: it does not watch.
  std::optional<std::chrono::microseconds> watchdog_period() const {
    if (!watchdog_) return std::nullopt;
    return *watchdog_ / 2;
  }

 private:
  std::string socket_;  // a path, or '@' and a name of the abstract space; empty: no manager
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace logarithm
