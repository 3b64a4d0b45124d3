#pragma once

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdint>

// Our own log: key=value, life events at info, nothing per record, no user text above debug. This
// is the only file that includes spdlog. Messages go to stderr (the journal adds the time).
//   LGR_INFO("shard opened job={} part={}", job, part);
#define LGR_DEBUG(...) SPDLOG_DEBUG(__VA_ARGS__)
#define LGR_INFO(...) spdlog::info(__VA_ARGS__)
#define LGR_WARN(...) spdlog::warn(__VA_ARGS__)
#define LGR_ERROR(...) spdlog::error(__VA_ARGS__)

namespace logarithm {

// Lets one message of a kind through per `interval` and says how many were held back since.
class RateLimit {
 public:
  explicit RateLimit(std::chrono::seconds interval = std::chrono::seconds(60))
      : interval_(interval) {}

  // The same at the present time.
  bool allow(std::uint64_t& suppressed) {
    return allow(std::chrono::steady_clock::now(), suppressed);
  }

  // True when a message may be written at `now`; `suppressed` is then how many were not.
  bool allow(std::chrono::steady_clock::time_point now, std::uint64_t& suppressed) {
    const auto tick = now.time_since_epoch().count();
    auto last = last_.load();
    const auto step = std::chrono::steady_clock::duration(interval_).count();
    if ((last != 0 && tick - last < step) || !last_.compare_exchange_strong(last, tick)) {
      held_.fetch_add(1);
      return false;
    }
    suppressed = held_.exchange(0);
    return true;
  }

 private:
  std::chrono::seconds interval_;
  std::atomic<std::chrono::steady_clock::rep> last_{0};
  std::atomic<std::uint64_t> held_{0};
};

// Sets the process's logger: stderr, `[level] message`, info and above (debug with `verbose`).
void init_logging(bool verbose);

}  // namespace logarithm
