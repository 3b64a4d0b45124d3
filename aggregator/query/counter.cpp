#include "aggregator/query/counter.h"

#include <utility>

#include "aggregator/query/block_filter.h"

namespace logarithm::aggregator {

Counter::Counter(JobView& view, ScanPlan plan)
    : view_(view), plan_(std::move(plan)), pruner_(plan_.predicate, view) {}

Result<std::uint64_t> Counter::count_block(BlockingToken& token, const BlockRef& block) {
  LGR_TRY(Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) return std::uint64_t{0};
  return count_rows(token, view_, block, plan_, verdict == Verdict::always);
}

Result<ScanState> Counter::next(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!loaded_) {
    LGR_TRY(candidates_, view_.snapshot().candidates(token, plan_filter(plan_, view_)));
    loaded_ = true;
  }
  while (!candidates_.empty()) {
    if (time_is_up && time_is_up()) return ScanState::more;
    const BlockRef block = candidates_.back();
    candidates_.pop_back();
    auto found = count_block(token, block);
    if (!found.ok() && !view_.note_damage(block, found.error())) return found.error();
    count_ += found.ok() ? *found : 0;
  }
  return ScanState::finished;
}

}  // namespace logarithm::aggregator
