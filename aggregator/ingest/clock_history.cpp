#include "aggregator/ingest/clock_history.h"

#include <algorithm>
#include <cstdlib>

namespace logarithm::aggregator {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kAnyway = 1800 * kSecond;
constexpr std::int64_t kDrift = 60 * kSecond;  // not more often for small differences
constexpr std::int64_t kStep = 10'000'000;     // larger ones are a step of a clock

}  // namespace

bool worth_keeping(const ClockReading& last, const ClockReading& next) {
  const std::int64_t since = next.at - last.at;
  if (since < 0 || since >= kAnyway) return true;
  const std::int64_t beyond =
      std::abs(next.offset - last.offset) - std::min(last.error + next.error, INT64_MAX / 2);
  if (beyond > kStep) return true;
  return since >= kDrift && (beyond > 0 || next.error * 2 <= last.error);
}

void ClockHistory::note(const std::string& tenant, const std::string& host,
                        const ClockReading& reading) {
  // Years are no clock's offset, and would overflow what is computed with them.
  constexpr std::int64_t kMost = INT64_MAX / 8;
  if (reading.error < 0 || reading.error > kMost) return;
  if (reading.offset > kMost || reading.offset < -kMost) return;
  const std::pair<std::string, std::string> key(tenant, host);
  const auto known = kept_.find(key);
  if (known == kept_.end() && kept_.size() >= kMaxHosts) return;
  if (known != kept_.end() && !worth_keeping(known->second, reading)) return;
  kept_[key] = reading;
  if (waiting_.size() >= kMaxWaiting) waiting_.erase(waiting_.begin());
  HostClock one;
  one.tenant = tenant;
  one.host = host;
  one.reading = reading;
  waiting_.push_back(std::move(one));
}

void ClockHistory::give_back(std::vector<HostClock> readings) {
  readings.insert(readings.end(), waiting_.begin(), waiting_.end());
  if (readings.size() > kMaxWaiting) {
    readings.erase(readings.begin(), readings.end() - static_cast<std::ptrdiff_t>(kMaxWaiting));
  }
  waiting_ = std::move(readings);
}

}  // namespace logarithm::aggregator
