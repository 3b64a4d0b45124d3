#include "aggregator/http/one_attempt.h"

#include <algorithm>
#include <utility>

namespace logarithm::aggregator {

std::optional<std::int32_t> newest_attempt(const JobView& view) {
  std::optional<std::int32_t> newest;
  for (std::size_t s = 0; s < view.snapshot().streams().size(); ++s) {
    for (const StreamJoin& join : view.joins(s)) {
      if (!join.rank || !join.attempt) continue;
      newest = std::max(newest.value_or(*join.attempt), *join.attempt);
    }
  }
  return newest;
}

void narrow_to(ScanPlan& plan, std::string_view field, std::vector<Interval> intervals) {
  std::vector<Predicate> both;
  both.push_back(std::move(plan.predicate));
  both.push_back(predicate::intervals(field_named(field), std::move(intervals)));
  plan.predicate = predicate::all_of(std::move(both));
}

void OneAttempt::choose(const JobView& view, ScanPlan& plan) {
  if (stated_) return;
  attempt_ = newest_attempt(view);
  if (attempt_) narrow_to(plan, "attempt", {Interval{*attempt_, *attempt_}});
}

void OneAttempt::write(JsonWriter& out, const JobView& view) const {
  out.key("job").string(view.job());
  out.optional_integer("attempt", attempt_);
}

}  // namespace logarithm::aggregator
