#include "aggregator/tail/tail_merge.h"

#include <algorithm>
#include <tuple>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kLinesPerLook = 64;  // between two looks at the clock

}  // namespace

// ---- which block comes next

Status TailMerge::add(std::size_t stream, TailStream& state) {
  Source source;
  source.stream = stream;
  source.state = &state;
  LGR_TRY(bool more, next_range(source, 0));
  if (more) LGR_CHECK(go_on(std::move(source)));
  return {};
}

// Sets the first unsent range beyond `from` of which something is stored.
Result<bool> TailMerge::next_range(Source& source, std::uint64_t from) {
  const std::vector<Range>& stored = view_.snapshot().streams()[source.stream].ranges;
  source.range.reset();
  for (const Range& range : source.state->unsent) {
    if (range.end <= from) continue;
    const Range wanted{std::max(range.first, from), range.end};
    if (pending(Unsent{wanted}, stored) == 0) continue;
    source.range = wanted;
    source.at = 0;
    LGR_TRY(source.refs, lookup_.from(token_, source.stream, wanted.first));
    return true;
  }
  return false;
}

// The hole [range.first, end) lies before the next block. True: read on behind it.
bool TailMerge::pass_hole(Source& source, std::uint64_t end) {
  TailStream& state = *source.state;
  const Range hole{source.range->first, end};
  Unsent unexplained{hole};
  for (const Gap& gap : view_.snapshot().streams()[source.stream].gaps) {
    const Range known{std::max(gap.from, hole.first), std::min(gap.to.value_or(end), end)};
    if (known.first >= known.end) continue;
    subtract(unexplained, known);
    subtract(state.unsent, known);
  }
  if (!unexplained.empty() && !state.holes_are_old) {
    if (!state.waiting_since) state.waiting_since = now_;
    const MonotonicTime until = *state.waiting_since + options_.hole_patience;
    if (now_ < until) {
      retry_at_ = retry_at_ ? std::min(*retry_at_, until) : until;
      return false;
    }
  }
  state.waiting_since.reset();
  split(state.unsent, end);
  while (state.unsent.size() > options_.max_holes) {
    state.unsent.erase(state.unsent.begin());
    ++forgotten_holes_;
  }
  source.range->first = end;
  return true;
}

// Moves to the next block that holds something unsent; false when there is none to be read now.
Result<bool> TailMerge::find_block(Source& source) {
  while (source.range) {
    if (source.at == source.refs.size() && source.refs.size() == BlockLookup::kFetch) {
      const std::uint64_t from = source.refs.back().end;
      source.at = 0;
      LGR_TRY(source.refs, lookup_.from(token_, source.stream, from));
    }
    if (source.at == source.refs.size() || source.refs[source.at].first >= source.range->end) {
      const std::uint64_t behind = source.range->end;
      if (behind == kNoEnd) return false;
      LGR_TRY(bool more, next_range(source, behind));
      if (!more) return false;
      continue;
    }
    const BlockRef& block = source.refs[source.at];
    if (source.range->end == kNoEnd) {
      if (block.first <= source.range->first) {
        source.state->waiting_since.reset();
      } else if (!pass_hole(source, block.first)) {
        return false;
      }
    }
    source.part =
        Range{std::max(block.first, source.range->first), std::min(block.end, source.range->end)};
    if (source.part.first >= source.part.end) {
      ++source.at;
      continue;
    }
    source.key = std::max(source.state->latest, block.time_min);
    return true;
  }
  return false;
}

void TailMerge::pass(Source& source) {
  subtract(source.state->unsent, source.part);
  // Else the next block, which begins here, would be taken for one behind a hole.
  source.range->first = source.part.end;
  ++source.at;
}

// ---- reading a block

Result<Verdict> TailMerge::judge(const Source& source) {
  const BlockRef& block = source.refs[source.at];
  if (plan_.start && block.time_max < *plan_.start) return Verdict::never;
  if (plan_.end && block.time_min >= *plan_.end) return Verdict::never;
  return pruner_.judge_block(token_, block);
}

// Decodes the block; false when it has no line to give.
Result<bool> TailMerge::open(Source& source) {
  const BlockRef& block = source.refs[source.at];
  const auto damaged = [&](const Error& error) {
    if (!view_.note_damage(block, error)) return false;
    unreadable_ += block.lines;
    return true;
  };
  auto verdict = judge(source);
  if (!verdict.ok()) {
    if (damaged(verdict.error())) return false;
    return verdict.error();
  }
  if (*verdict == Verdict::never) return false;
  const bool verified = *verdict == Verdict::always;
  auto decoded =
      blocks_.get(token_, view_, block, verified ? kAllParts : parts_for(plan_.predicate));
  if (!decoded.ok()) {
    if (damaged(decoded.error())) return false;
    return decoded.error();
  }
  const StreamJoin* join = view_.join_of(block);
  source.matching.clear();
  const std::vector<Line>& lines = (*decoded)->lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].offset < source.part.first || lines[i].offset >= source.part.end) continue;
    if (!in_time(plan_, lines[i].time)) continue;
    Row row(lines[i], *join);
    if (verified || matches(plan_.predicate, row)) {
      source.matching.push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (source.matching.empty()) return false;
  LGR_TRY(source.open, blocks_.get(token_, view_, block, kAllParts));
  source.next = 0;
  source.passed = source.part.first;
  return true;
}

Result<std::uint64_t> TailMerge::count(Source& source) {
  const BlockRef& block = source.refs[source.at];
  LGR_TRY(Verdict verdict, judge(source));
  if (verdict == Verdict::never) return std::uint64_t{0};
  if (source.part == Range{block.first, block.end}) {
    return count_rows(token_, view_, block, plan_, verdict == Verdict::always);
  }
  LGR_TRY(bool some, open(source));
  source.open.reset();
  return std::uint64_t{some ? source.matching.size() : 0};
}

// ---- the merge

void TailMerge::push(Source source) {
  heap_.push_back(std::move(source));
  std::push_heap(heap_.begin(), heap_.end(), [](const Source& a, const Source& b) {
    return std::tie(a.key, a.stream) > std::tie(b.key, b.stream);
  });
}

TailMerge::Source TailMerge::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), [](const Source& a, const Source& b) {
    return std::tie(a.key, a.stream) > std::tie(b.key, b.stream);
  });
  Source out = std::move(heap_.back());
  heap_.pop_back();
  return out;
}

Status TailMerge::go_on(Source source) {
  LGR_TRY(bool more, find_block(source));
  if (more) push(std::move(source));
  return {};
}

// The block was given to its end.
Status TailMerge::close(Source source) {
  opened_bytes_ -= source.open->bytes;
  --opened_;
  source.open.reset();
  pass(source);
  for (Source& other : put_off_) push(std::move(other));
  put_off_.clear();
  return go_on(std::move(source));
}

void TailMerge::note_given() {
  for (const Source& source : heap_) {
    if (source.open == nullptr) continue;
    subtract(source.state->unsent, Range{source.part.first, source.passed});
  }
}

Result<MergeEnd> TailMerge::run(const Sink& sink, const std::function<bool()>& time_is_up) {
  std::size_t given = 0;
  while (!heap_.empty()) {
    Source source = pop();
    if (source.open == nullptr) {
      if (opened_ > 0 && opened_bytes_ >= options_.opened_bytes) {
        put_off_.push_back(std::move(source));
        continue;
      }
      if (time_is_up()) {
        push(std::move(source));
        note_given();
        return MergeEnd::time;
      }
      LGR_TRY(bool some, open(source));
      if (!some) {
        pass(source);
        LGR_CHECK(go_on(std::move(source)));
        continue;
      }
      ++opened_;
      opened_bytes_ += source.open->bytes;
      source.key = std::max(source.state->latest, source.open->lines[source.matching[0]].time);
      push(std::move(source));
      continue;
    }
    const std::size_t index = source.matching[source.next];
    const Line& line = source.open->lines[index];
    const std::size_t held = source.open->bytes;
    bool more = sink(*source.open, index, *view_.join_of(source.refs[source.at]));
    opened_bytes_ += source.open->bytes - held;  // its encoded text stays with it
    source.state->latest = std::max(source.state->latest, line.time);
    source.passed = line.offset + 1;
    if (++source.next == source.matching.size()) {
      LGR_CHECK(close(std::move(source)));
    } else {
      const UnixNanos next = source.open->lines[source.matching[source.next]].time;
      source.key = std::max(source.state->latest, next);
      push(std::move(source));
    }
    if (!more || (++given % kLinesPerLook == 0 && time_is_up())) {
      note_given();
      return more ? MergeEnd::time : MergeEnd::full;
    }
  }
  return MergeEnd::everything;
}

Result<MergeEnd> TailMerge::skip(const std::function<bool()>& time_is_up, std::uint64_t& skipped) {
  while (!heap_.empty()) {
    if (time_is_up()) return MergeEnd::time;
    Source source = pop();
    auto lines = count(source);
    if (lines.ok()) {
      skipped += *lines;
    } else if (view_.note_damage(source.refs[source.at], lines.error())) {
      unreadable_ += source.refs[source.at].lines;
    } else {
      return lines.error();
    }
    pass(source);
    LGR_CHECK(go_on(std::move(source)));
  }
  return MergeEnd::everything;
}

}  // namespace logarithm::aggregator
