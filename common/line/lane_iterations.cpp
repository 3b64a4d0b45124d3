#include "common/line/lane_iterations.h"

#include <algorithm>

namespace logarithm {
namespace {

bool before(const LaneIterations::Entry& entry, std::int32_t lane) { return entry.first < lane; }

}  // namespace

std::optional<std::int64_t> LaneIterations::of(std::int32_t lane) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), lane, before);
  if (at == entries_.end() || at->first != lane) return std::nullopt;
  return at->second;
}

void LaneIterations::set(std::int32_t lane, std::int64_t iteration) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), lane, before);
  if (at != entries_.end() && at->first == lane) {
    at->second = iteration;
  } else if (entries_.size() < kMost) {
    entries_.insert(at, {lane, iteration});
  }
}

}  // namespace logarithm
