#include "aggregator/query/scanner.h"

#include <algorithm>
#include <utility>

#include "aggregator/query/block_filter.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kUsualLine = 512;  // of a decoded line, bytes
constexpr std::size_t kLeastLines = 64;

}  // namespace

Scanner::Scanner(JobView& view, ScanPlan plan, ScanLimits limits)
    : view_(view),
      plan_(std::move(plan)),
      limits_(limits),
      pruner_(plan_.predicate, view),
      merge_(plan_.direction, limits.memory) {}

Status Scanner::load(BlockingToken& token) {
  const BlockFilter filter = limits_.prune ? plan_filter(plan_, view_) : time_filter(plan_);
  LGR_TRY(std::vector<BlockRef> blocks, view_.snapshot().candidates(token, filter));
  stats_.blocks = blocks.size();
  merge_.start(std::move(blocks));
  loaded_ = true;
  return {};
}

Status Scanner::open(BlockingToken& token, const BlockRef& block) {
  Run run;
  run.block = block;
  if (limits_.prune) {
    auto verdict = pruner_.judge_block(token, run.block);
    if (!verdict.ok()) {
      return view_.note_damage(run.block, verdict.error()) ? Status() : verdict.error();
    }
    if (*verdict == Verdict::never) {
      ++stats_.pruned;
      return {};
    }
    run.verified = *verdict == Verdict::always;
  }
  return fill(token, std::move(run), std::nullopt);
}

// Lines of a block to decode now. After a clock step hundreds of blocks overlap, and most lines of
// each are wanted much later: decoded at once they are forgotten, and decoded again.
std::size_t Scanner::share() const {
  const std::size_t lines = limits_.memory / (2 * kUsualLine * (merge_.open() + 1));
  return std::min(limits_.keep, std::max(lines, kLeastLines));
}

Status Scanner::fill(BlockingToken& token, Run run, const std::optional<OrderKey>& after) {
  ++stats_.decoded;
  auto read = read_rows(token, view_, run.block, plan_, after, run.verified, share());
  if (!read.ok()) return view_.note_damage(run.block, read.error()) ? Status() : read.error();
  stats_.lines += read->rows.size();
  run.rows = std::move(read->rows);
  run.more = read->more;
  merge_.add(std::move(run));
  return {};
}

Result<ScanState> Scanner::next(BlockingToken& token, const ScanTurn& turn,
                                std::vector<QueryLine>& out) {
  if (!loaded_) LGR_CHECK(load(token));
  return merge_.next(
      turn, [&](const BlockRef& block) { return open(token, block); },
      [&](Run run, const OrderKey& after) { return fill(token, std::move(run), after); }, out);
}

}  // namespace logarithm::aggregator
