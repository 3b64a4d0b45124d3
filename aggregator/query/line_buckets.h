#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "aggregator/query/fold.h"

namespace logarithm::aggregator {

enum class BucketBy : std::uint8_t {
  time,
  iteration,
  rank,
  host,
  severity,
  callsite,
  template_id,
};
std::optional<BucketBy> parse_bucket_by(std::string_view word);
std::string_view to_string(BucketBy by);

// Counts lines by one of their fields. Times and iterations are counted in buckets of `step`, each
// named by its start, a multiple of the step.
class LineBuckets final : public LineSink {
 public:
  static constexpr std::size_t kMaxKeys = 1'000'000;      // held; more are an Error
  static constexpr std::size_t kMaxKeyBytes = 64u << 20;  // of their texts; more are an Error

  LineBuckets(BucketBy by, std::int64_t step) : by_(by), step_(step) {}

  Result<Taken> take_block(const BlockRef& block, const StreamJoin& join,
                           const HeaderSource& header) override;
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;

  // monostate: lines without the field. Integers: nanoseconds, iterations, ranks, Severity,
  // template.
  using Key = std::variant<std::monostate, std::int64_t, std::string>;
  struct Bucket {
    Key key;
    std::uint64_t count = 0;
  };
  struct Answer {
    std::vector<Bucket> buckets;
    std::uint64_t total = 0;                     // all lines
    std::uint64_t other = 0, other_buckets = 0;  // lines and keys beyond the limit
  };
  // Times, iterations, ranks and severities ascend, lines without them last; the rest: the most
  // frequent first. At most `limit` of them.
  Answer answer(std::size_t limit) const;

 private:
  Status add(std::optional<std::int64_t> key, std::uint64_t count);
  Status add(std::string_view key, std::uint64_t count);
  Status check_room() const;

  BucketBy by_;
  std::int64_t step_;
  std::unordered_map<std::int64_t, std::uint64_t> numbers_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::size_t text_bytes_ = 0;
  std::uint64_t absent_ = 0;
};

// The start of the bucket that `value` is in: the largest multiple of `step` that is not above it
// (of the smallest numbers, the smallest number).
std::int64_t bucket_start(std::int64_t value, std::int64_t step);

// A step that people like (1, 2, 5, 10, …; of times also 15 s, 1 min, 6 h, …) and that cuts
// [first, last] into at most about `buckets`.
std::int64_t nice_step(BucketBy by, std::int64_t first, std::int64_t last, std::int64_t buckets);

// The least and the greatest value that lines of the plan can have, as far as the streams say: for
// nice_step(). Depends on stored facts and the plan alone. nullopt when there are no such lines.
std::optional<Interval> bucket_range(const JobView& view, const ScanPlan& plan, BucketBy by);

}  // namespace logarithm::aggregator
