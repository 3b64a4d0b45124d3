#include "aggregator/triage/time_unit.h"

namespace logarithm::aggregator::triage {

std::optional<double> time_unit(const std::string& key) {
  for (const char* end : {"_ms", "(ms)", " ms"}) {
    if (key.ends_with(end)) return 1e6;
  }
  for (const char* end : {"_s", "_sec", "_secs", "seconds"}) {
    if (key.ends_with(end) && !key.ends_with("per_s")) return 1e9;
  }
  return std::nullopt;
}

}  // namespace logarithm::aggregator::triage
