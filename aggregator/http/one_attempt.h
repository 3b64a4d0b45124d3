#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregator/http/json_text.h"
#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"

namespace logarithm::aggregator {

// The newest attempt that has lines of ranks.
std::optional<std::int32_t> newest_attempt(const JobView& view);
// Adds `field in intervals` to a plan.
void narrow_to(ScanPlan& plan, std::string_view field, std::vector<Interval> intervals);

// The one attempt that is compared: the request's own, which its plan has, else the newest.
class OneAttempt {
 public:
  explicit OneAttempt(bool stated) : stated_(stated) {}

  // Before the lines are read.
  void choose(const JobView& view, ScanPlan& plan);

  // Absent where the plan has it, or there is none.
  const std::optional<std::int32_t>& attempt() const { return attempt_; }

  // The members `job` and `attempt`.
  void write(JsonWriter& out, const JobView& view) const;

 private:
  bool stated_;
  std::optional<std::int32_t> attempt_;
};

}  // namespace logarithm::aggregator
