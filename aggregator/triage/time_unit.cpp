#include "aggregator/triage/time_unit.h"

#include <algorithm>

#include "aggregator/query/own_measure.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kTimedKeys = 32;  // that are remembered

}  // namespace

std::optional<double> time_unit(const std::string& key) {
  for (const char* end : {"_ms", "(ms)", " ms"}) {
    if (key.ends_with(end)) return 1e6;
  }
  for (const char* end : {"_s", "_sec", "_secs", "seconds"}) {
    if (key.ends_with(end) && !key.ends_with("per_s")) return 1e9;
  }
  return std::nullopt;
}

bool may_be_duration(const std::string& key) {
  if (time_unit(key)) return false;
  if (key.ends_with("_in")) return true;
  for (const char* word : {"time", "took", "elapsed", "duration", "latency", "wait"}) {
    if (key.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string_view unit_behind(std::string_view text, std::string_view key) {
  for (const std::string_view unit : units_behind(text, key)) {
    if (unit == "ms" || unit == "msec" || unit == "milliseconds") return "_ms";
    if (unit == "s" || unit == "sec" || unit == "secs" || unit == "seconds") return "_s";
  }
  return {};
}

bool TimedKeys::contain(const std::string& key) {
  const auto known = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (known != known_.end()) return known->second;
  const bool timed = time_unit(key) || may_be_duration(key);
  if (known_.size() < kTimedKeys) known_.emplace_back(key, timed);
  return timed;
}

}  // namespace logarithm::aggregator::triage
