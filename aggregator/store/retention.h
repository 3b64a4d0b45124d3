#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// When shards are unlinked; 0 means no limit.
struct RetentionLimits {
  std::chrono::nanoseconds max_age{0};  // since a shard last got data
  std::uint64_t max_bytes = 0;          // of all shards
  std::uint64_t min_free = 0;           // of the data directory's disk
  bool any() const { return max_age.count() > 0 || max_bytes > 0 || min_free > 0; }
};

// A shard's files as they lie on the disk.
struct PartFile {
  JobKey job;
  std::uint32_t part = 0;
  std::uint64_t bytes = 0;
  UnixNanos written = 0;  // last
  bool newest = false;    // of its job: the one that is written
};

enum class RetentionReason { age, bytes, free_space };
std::string_view to_string(RetentionReason reason);

// What to do next: unlink a part, or begin a new one so that it can be unlinked.
struct RetentionStep {
  JobKey job;
  std::uint32_t part = 0;
  RetentionReason reason = RetentionReason::age;
  bool roll_first = false;
};

// The next step, nullopt when every limit is kept (or nothing may go). The shard that was written
// last the longest ago goes first, never one before an older one of its job. The one that a job
// writes goes for its age, or when it was left alone for ten minutes; else, where nothing else is
// left, it is rolled, the largest first. Pure.
std::optional<RetentionStep> next_retention_step(const RetentionLimits& limits,
                                                 const std::vector<PartFile>& parts,
                                                 std::optional<std::uint64_t> free_bytes,
                                                 UnixNanos now);

}  // namespace logarithm::aggregator
