#include "aggregator/query/scanner.h"

#include <algorithm>
#include <limits>

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kUsualLine = 512;  // of a decoded line, bytes
constexpr std::size_t kLeastLines = 64;

// The time range that storage may use: the plan's, narrowed by where the last page ended.
BlockFilter filter_of(const ScanPlan& plan, const JobView& view, bool prune) {
  BlockFilter filter;
  if (prune) {
    filter = block_filter(plan.predicate, plan.start, plan.end, view);
  } else {
    filter.start = plan.start;
    filter.end = plan.end;
  }
  if (!plan.after) return filter;
  const UnixNanos time = plan.after->time;
  if (plan.direction == Direction::forward) {
    filter.start = std::max(filter.start.value_or(time), time);
  } else if (time < std::numeric_limits<UnixNanos>::max()) {
    filter.end = std::min(filter.end.value_or(time + 1), time + 1);
  }
  return filter;
}

}  // namespace

Scanner::Scanner(JobView& view, ScanPlan plan, ScanLimits limits)
    : view_(view), plan_(std::move(plan)), limits_(limits), pruner_(plan_.predicate, view) {}

Status Scanner::load_candidates(BlockingToken& token) {
  LGR_TRY(candidates_, view_.snapshot().candidates(token, filter_of(plan_, view_, limits_.prune)));
  stats_.blocks = candidates_.size();
  // The next one last: forward that is the earliest begin, backward the latest end.
  const auto later = [&](const BlockRef& a, const BlockRef& b) {
    return plan_.direction == Direction::forward ? a.time_min > b.time_min
                                                 : a.time_max < b.time_max;
  };
  std::stable_sort(candidates_.begin(), candidates_.end(), later);
  loaded_ = true;
  return {};
}

bool Scanner::next_block_may_come_first() const {
  if (candidates_.empty()) return false;
  if (runs_.empty()) return true;
  // Equal times decide nothing: the stream may be a smaller one.
  const UnixNanos first = runs_.front().rows.back().line.time;
  return plan_.direction == Direction::forward ? candidates_.back().time_min <= first
                                               : candidates_.back().time_max >= first;
}

Status Scanner::open_next_block(BlockingToken& token) {
  Run run;
  run.block = candidates_.back();
  candidates_.pop_back();
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
  const std::size_t lines = limits_.memory / (2 * kUsualLine * (runs_.size() + 1));
  return std::min(limits_.keep, std::max(lines, kLeastLines));
}

Status Scanner::fill(BlockingToken& token, Run run, const std::optional<OrderKey>& after) {
  ++stats_.decoded;
  auto read = read_rows(token, view_, run.block, plan_, after, run.verified, share());
  if (!read.ok()) return view_.note_damage(run.block, read.error()) ? Status() : read.error();
  if (read->rows.empty()) return {};
  run.rows = std::move(read->rows);
  stats_.lines += run.rows.size();
  std::reverse(run.rows.begin(), run.rows.end());
  run.more = read->more;
  run.bytes = 0;
  for (const QueryLine& row : run.rows) run.bytes += memory_of(row);
  bytes_ += run.bytes;
  push(std::move(run));
  if (bytes_ > limits_.memory) forget_tails();
  return {};
}

void Scanner::push(Run run) {
  runs_.push_back(std::move(run));
  std::push_heap(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
    return comes_before(plan_.direction, key_of(b.rows.back()), key_of(a.rows.back()));
  });
}

Scanner::Run Scanner::pop() {
  std::pop_heap(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
    return comes_before(plan_.direction, key_of(b.rows.back()), key_of(a.rows.back()));
  });
  Run run = std::move(runs_.back());
  runs_.pop_back();
  return run;
}

// The fronts stay, so the heap's order does too.
void Scanner::forget_tails() {
  while (bytes_ > limits_.memory) {
    auto largest = std::max_element(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
      return a.rows.size() > 1 ? b.rows.size() > 1 && a.bytes < b.bytes : b.rows.size() > 1;
    });
    if (largest->rows.size() < 2) return;
    std::vector<QueryLine> kept;
    const std::size_t half = largest->rows.size() / 2;
    kept.reserve(half);
    std::move(largest->rows.end() - static_cast<std::ptrdiff_t>(half), largest->rows.end(),
              std::back_inserter(kept));
    bytes_ -= largest->bytes;
    largest->rows = std::move(kept);
    largest->more = true;
    largest->bytes = 0;
    for (const QueryLine& row : largest->rows) largest->bytes += memory_of(row);
    bytes_ += largest->bytes;
  }
}

Result<ScanState> Scanner::next(BlockingToken& token, const ScanTurn& turn,
                                std::vector<QueryLine>& out) {
  if (!loaded_) LGR_CHECK(load_candidates(token));
  const auto time_is_up = [&] { return turn.time_is_up && turn.time_is_up(); };
  std::size_t rows = 0, bytes = 0;
  while (true) {
    while (next_block_may_come_first()) {
      if (time_is_up()) return ScanState::more;
      LGR_CHECK(open_next_block(token));
    }
    if (runs_.empty()) return ScanState::finished;
    if (rows >= turn.max_rows || bytes >= turn.max_bytes) return ScanState::more;
    Run run = pop();
    const std::size_t size = memory_of(run.rows.back());
    run.bytes -= std::min(run.bytes, size);
    bytes_ -= std::min(bytes_, size);
    const OrderKey key = key_of(run.rows.back());
    out.push_back(std::move(run.rows.back()));
    run.rows.pop_back();
    ++rows;
    bytes += size;
    if (!run.rows.empty()) {
      push(std::move(run));
    } else if (run.more) {
      LGR_CHECK(fill(token, std::move(run), key));
    }
  }
}

Counter::Counter(JobView& view, ScanPlan plan)
    : view_(view), plan_(std::move(plan)), pruner_(plan_.predicate, view) {}

Result<std::uint64_t> Counter::count_block(BlockingToken& token, const BlockRef& block) {
  LGR_TRY(Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) return std::uint64_t{0};
  return count_rows(token, view_, block, plan_, verdict == Verdict::always);
}

Result<ScanState> Counter::next(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!loaded_) {
    LGR_TRY(candidates_, view_.snapshot().candidates(token, filter_of(plan_, view_, true)));
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
