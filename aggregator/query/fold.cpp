#include "aggregator/query/fold.h"

#include <algorithm>
#include <tuple>

#include "aggregator/query/block_filter.h"

namespace logarithm::aggregator {

Result<Taken> LineSink::take_block(const BlockRef&, const StreamJoin&, const HeaderSource&) {
  return Taken::no;
}

Fold::Fold(JobView& view, ScanPlan plan, LineSink& sink)
    : view_(view), plan_(std::move(plan)), sink_(sink), pruner_(plan_.predicate, view) {
  plan_.after.reset();
  if (sink_.keys() != nullptr) keys_ = *sink_.keys();
  add_meta_keys(plan_.predicate, keys_);
  const auto fields = static_cast<std::uint8_t>(BlockPart::fields);
  const bool asks = (static_cast<std::uint8_t>(sink_.parts()) & fields) != 0;
  all_keys_ = asks && sink_.keys() == nullptr;
}

Status Fold::load(BlockingToken& token) {
  const BlockFilter filter = block_filter(plan_.predicate, plan_.start, plan_.end, view_);
  LGR_TRY(candidates_, view_.snapshot().candidates(token, filter));
  const auto& streams = view_.snapshot().streams();
  std::sort(candidates_.begin(), candidates_.end(), [&](const BlockRef& a, const BlockRef& b) {
    return std::tie(streams[b.stream].id, b.first) < std::tie(streams[a.stream].id, a.first);
  });
  stats_.blocks = candidates_.size();
  loaded_ = true;
  return {};
}

Status Fold::take_one(BlockingToken& token, const BlockRef& block) {
  LGR_TRY(Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) {
    ++stats_.pruned;
    return {};
  }
  const StreamJoin& join = *view_.join_of(block);
  if (verdict == Verdict::always && lies_in_time(plan_, block)) {
    const HeaderSource header = [&]() -> Result<BlockHeader> {
      LGR_TRY(std::string bytes, view_.snapshot().block_header(token, block));
      return parse_block_header(bytes);
    };
    LGR_TRY(Taken taken, sink_.take_block(block, join, header));
    if (taken == Taken::wholly) return {};
  }
  ++stats_.decoded;
  const auto each = [&](const Line& line) { return sink_.take(line, join, block); };
  const auto* keys = all_keys_ ? nullptr : &keys_;
  return visit_rows(token, view_, block, plan_, verdict == Verdict::always, sink_.parts(), keys,
                    each);
}

Result<ScanState> Fold::next(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!loaded_) LGR_CHECK(load(token));
  while (!candidates_.empty()) {
    if (time_is_up && time_is_up()) return ScanState::more;
    const BlockRef block = candidates_.back();
    candidates_.pop_back();
    Status taken = take_one(token, block);
    if (!taken.ok() && !view_.note_damage(block, taken.error())) return taken.error();
  }
  return ScanState::finished;
}

}  // namespace logarithm::aggregator
