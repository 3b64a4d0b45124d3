#include "aggregator/query/mark_scanner.h"

#include <algorithm>

#include "aggregator/query/block_filter.h"
#include "aggregator/query/match.h"
#include "aggregator/query/open_block.h"

namespace logarithm::aggregator {
namespace {

// A question that more than one line in so many fulfils is counted rather than remembered.
constexpr std::uint32_t kMuch = 8;

bool is_earlier(const Mark& a, const Mark& b) { return key_of(a) < key_of(b); }

// Of `rows` those lines that fulfil the predicate.
RowSet matching(const std::vector<Line>& lines, const RowSet& rows, const StreamJoin& join,
                const Predicate& predicate) {
  RowSet out;
  auto line = lines.begin();
  for (const RowRange& range : rows.ranges()) {
    for (std::uint32_t at = range.first; at < range.end; ++at, ++line) {
      Row row(*line, join);
      if (matches(predicate, row)) out.add(at, at + 1);
    }
  }
  return out;
}

const std::string* word_of(const Line& line, const std::string& key, std::set<std::string>& words) {
  for (const MetaPair& pair : line.meta) {
    const auto* text = std::get_if<std::string>(&pair.value);
    if (pair.key == key && text != nullptr) return &*words.insert(*text).first;
  }
  return nullptr;
}

}  // namespace

OrderKey key_of(const Mark& mark) { return {mark.time, mark.join->facts->id, mark.offset}; }

std::optional<std::int32_t> rank_of(const Mark& mark) {
  if (!mark.join->rank_is_fixed && mark.wrapper_rank) return mark.wrapper_rank;
  return mark.join->rank;
}

MarkScanner::MarkScanner(JobView& view, ScanPlan plan, MarkLimits limits)
    : view_(view),
      plan_(std::move(plan)),
      limits_(std::move(limits)),
      pruner_(plan_.predicate, view),
      merge_(Direction::forward, limits_.memory) {
  plan_.direction = Direction::forward;
}

Status MarkScanner::load(BlockingToken& token) {
  LGR_TRY(std::vector<BlockRef> blocks,
          view_.snapshot().candidates(token, plan_filter(plan_, view_)));
  stats_.blocks = blocks.size();
  merge_.start(std::move(blocks));
  loaded_ = true;
  return {};
}

MatchCache::Handle MarkScanner::question_of(const StreamJoin& join) {
  if (limits_.cache == nullptr) return nullptr;
  const auto [at, fresh] = questions_.try_emplace(&join);
  if (fresh) {
    const auto question = block_question(plan_.predicate, join);
    if (question) at->second = limits_.cache->open(view_.key(), *question);
  }
  return at->second;
}

Result<std::vector<RowMark>> MarkScanner::read_marks(BlockingToken& token, const BlockRef& block) {
  std::vector<RowMark> none;
  LGR_TRY(const Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) {
    ++stats_.pruned;
    return none;
  }
  ++stats_.decoded;
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view_, block));
  const bool verified = verdict == Verdict::always;
  LGR_TRY(CandidateRows asked, open.candidates(token, view_, plan_.predicate, verified));
  if (!asked.exact) {
    const StreamJoin& join = *view_.join_of(block);
    LGR_TRY(std::vector<Line> lines,
            open.lines(token, view_, parts_for(plan_.predicate), asked.rows));
    LGR_CHECK(view_.derive_iterations(token, join, lines));
    asked.rows = matching(lines, asked.rows, join, plan_.predicate);
  }
  if (asked.rows.count() == 0) return none;
  return open.reader().marks(asked.rows);
}

MatchCache::BlockKey MarkScanner::cache_key(const BlockRef& block) const {
  return {block.shard, view_.snapshot().streams()[block.stream].id, block.first, block.end,
          block.lines};
}

Result<MatchCache::Marks> MarkScanner::marks_of(BlockingToken& token, const BlockRef& block) {
  const MatchCache::Handle question = question_of(*view_.join_of(block));
  const MatchCache::BlockKey key = cache_key(block);
  if (question != nullptr) {
    if (auto known = limits_.cache->find(question, key)) return known;
  }
  LGR_TRY(std::vector<RowMark> marks, read_marks(token, block));
  auto out = std::make_shared<const std::vector<RowMark>>(std::move(marks));
  if (question != nullptr) limits_.cache->add(question, key, out);
  return MatchCache::Marks(std::move(out));
}

Result<std::vector<Mark>> MarkScanner::marks_with_words(BlockingToken& token,
                                                        const BlockRef& block) {
  std::vector<Mark> out;
  LGR_TRY(const Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) return out;
  const StreamJoin* join = view_.join_of(block);
  const auto each = [&](const Line& line) {
    out.push_back({join, line.time, line.offset, line.iteration, line.wrapper_rank,
                   word_of(line, limits_.word_key, words_)});
    return Status();
  };
  std::vector<std::string> keys = {limits_.word_key};
  add_meta_keys(plan_.predicate, keys);
  ScanPlan plan;
  plan.predicate = plan_.predicate;
  LGR_CHECK(visit_rows(token, view_, block, plan, verdict == Verdict::always,
                       BlockPart::facts | BlockPart::fields, &keys, each));
  return out;
}

Result<std::vector<Mark>> MarkScanner::joined(BlockingToken& token, const BlockRef& block) {
  if (!limits_.word_key.empty()) return marks_with_words(token, block);
  LGR_TRY(const MatchCache::Marks marks, marks_of(token, block));
  const StreamJoin* join = view_.join_of(block);
  std::optional<std::uint64_t> from;
  UnixNanos latest = INT64_MIN;
  std::vector<Mark> out;
  out.reserve(marks->size());
  for (const RowMark& mark : *marks) {
    out.push_back({join, mark.time, mark.offset, mark.iteration, mark.wrapper_rank, nullptr});
    if (mark.iteration) continue;
    latest = std::max(latest, mark.time);
    from = std::min(from.value_or(mark.offset), mark.offset);
  }
  if (!from || !join->may_derive_iteration()) return out;
  LGR_TRY(const JobView::Derivation derivation, view_.derive(token, *join, *from, latest));
  for (Mark& mark : out) {
    if (!mark.iteration) mark.iteration = derivation.at(mark.offset, mark.time);
  }
  return out;
}

Result<std::optional<std::uint64_t>> MarkScanner::count_only(BlockingToken& token,
                                                             const BlockRef& block) {
  std::optional<std::uint64_t> out;
  if (!wanted_ || wanted_(*view_.join_of(block)) || !lies_in_time(plan_, block) || plan_.after) {
    return out;
  }
  // What is known already, or is little, is better kept than counted anew each time.
  const MatchCache::Handle question = question_of(*view_.join_of(block));
  const MatchCache::BlockKey key = cache_key(block);
  if (question != nullptr && limits_.cache->find(question, key)) return out;
  const auto keep = [&](std::vector<RowMark> marks) {
    if (question == nullptr) return;
    limits_.cache->add(question, key,
                       std::make_shared<const std::vector<RowMark>>(std::move(marks)));
  };
  LGR_TRY(const Verdict verdict, pruner_.judge_block(token, block));
  if (verdict == Verdict::never) {
    keep({});
    return std::optional<std::uint64_t>(0);
  }
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view_, block));
  const bool verified = verdict == Verdict::always;
  LGR_TRY(const CandidateRows asked, open.candidates(token, view_, plan_.predicate, verified));
  if (!asked.exact) return out;
  if (asked.rows.count() < block.lines / kMuch) {
    LGR_TRY(std::vector<RowMark> marks, open.reader().marks(asked.rows));
    keep(std::move(marks));
  }
  if (!with_iteration_ || open.reader().header().all_have_iteration) out = asked.rows.count();
  return out;
}

Status MarkScanner::fill(BlockingToken& token, const BlockRef& block,
                         const std::optional<OrderKey>& after) {
  auto counted = count_only(token, block);
  if (!counted.ok()) return view_.note_damage(block, counted.error()) ? Status() : counted.error();
  if (*counted) {
    counted_ += **counted;
    return {};
  }
  auto read = joined(token, block);
  if (!read.ok()) return view_.note_damage(block, read.error()) ? Status() : read.error();
  Run run;
  run.block = block;
  run.rows = std::move(*read);
  std::erase_if(run.rows, [&](const Mark& mark) {
    const OrderKey key = key_of(mark);
    return !in_plan(plan_, key) || (after && !(*after < key));
  });
  if (!std::is_sorted(run.rows.begin(), run.rows.end(), is_earlier)) {
    std::sort(run.rows.begin(), run.rows.end(), is_earlier);
  }
  merge_.add(std::move(run));
  return {};
}

Result<ScanState> MarkScanner::next(BlockingToken& token, const ScanTurn& turn,
                                    std::vector<Mark>& out) {
  if (!loaded_) LGR_CHECK(load(token));
  return merge_.next(
      turn, [&](const BlockRef& block) { return fill(token, block, std::nullopt); },
      [&](Run run, const OrderKey& after) { return fill(token, run.block, after); }, out);
}

Result<std::vector<Line>> lines_at(BlockingToken& token, JobView& view, std::size_t stream,
                                   const std::vector<std::uint64_t>& offsets) {
  std::vector<Line> lines;
  if (offsets.empty()) return lines;
  LGR_TRY(const auto blocks, view.snapshot().blocks_from(token, stream, offsets.front(), 1));
  if (blocks.empty()) return lines;
  const BlockRef& block = blocks.front();
  const auto read = [&]() -> Result<std::vector<Line>> {
    LGR_TRY(OpenBlock open, OpenBlock::open(token, view, block));
    const auto end = std::find_if(offsets.begin(), offsets.end(),
                                  [&](std::uint64_t offset) { return offset >= block.end; });
    LGR_TRY(const RowSet rows, open.reader().rows_at({offsets.begin(), end}));
    return open.lines(token, view, kAllParts, rows);
  };
  auto found = read();
  if (!found.ok()) {
    if (view.note_damage(block, found.error())) return lines;
    return found.error();
  }
  lines = std::move(*found);
  LGR_CHECK(view.derive_iterations(token, *view.join_of(block), lines));
  return lines;
}

}  // namespace logarithm::aggregator
