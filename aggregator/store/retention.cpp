#include "aggregator/store/retention.h"

#include <map>

namespace logarithm::aggregator {
namespace {

constexpr std::chrono::minutes kLeftAlone{10};
// A smaller shard is not worth a roll.
constexpr std::uint64_t kWorthARoll = 1u << 20;

}  // namespace

std::string_view to_string(RetentionReason reason) {
  switch (reason) {
    case RetentionReason::age: return "age";
    case RetentionReason::bytes: return "bytes";
    case RetentionReason::free_space: return "free_space";
  }
  return "";
}

std::optional<RetentionStep> next_retention_step(const RetentionLimits& limits,
                                                 const std::vector<PartFile>& parts,
                                                 std::optional<std::uint64_t> free_bytes,
                                                 UnixNanos now) {
  std::uint64_t total = 0;
  std::map<JobKey, const PartFile*> first;  // the oldest of each job
  for (const PartFile& part : parts) {
    total += part.bytes;
    const PartFile*& known = first[part.job];
    if (known == nullptr || part.part < known->part) known = &part;
  }
  std::optional<RetentionReason> space;
  if (limits.max_bytes > 0 && total > limits.max_bytes) space = RetentionReason::bytes;
  if (limits.min_free > 0 && free_bytes && *free_bytes < limits.min_free) {
    space = RetentionReason::free_space;
  }
  const PartFile* oldest = nullptr;
  const PartFile* largest = nullptr;  // of those that are written
  for (const auto& [job, part] : first) {
    const bool expired = limits.max_age.count() > 0 && now - part->written > limits.max_age.count();
    const std::chrono::nanoseconds quiet(now - part->written);
    const bool may_go = !part->newest || expired || quiet > kLeftAlone;
    if (!may_go) {
      if (largest == nullptr || part->bytes > largest->bytes) largest = part;
      continue;
    }
    if (!expired && !space) continue;
    if (oldest == nullptr || part->written < oldest->written) oldest = part;
  }
  RetentionStep step;
  if (oldest != nullptr) {
    const bool expired =
        limits.max_age.count() > 0 && now - oldest->written > limits.max_age.count();
    step.job = oldest->job;
    step.part = oldest->part;
    step.reason = expired ? RetentionReason::age : *space;
    return step;
  }
  if (!space || largest == nullptr || largest->bytes < kWorthARoll) return std::nullopt;
  step.job = largest->job;
  step.part = largest->part;
  step.reason = *space;
  step.roll_first = true;
  return step;
}

}  // namespace logarithm::aggregator
