#include "aggregator/query/block_rows.h"

#include <algorithm>

#include "aggregator/query/match.h"
#include "aggregator/query/open_block.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {
namespace {

// Of the lines of `rows` those that were chosen, by their index; afterwards by their index among
// themselves.
RowSet narrow(const RowSet& rows, std::vector<std::pair<OrderKey, std::size_t>>& chosen) {
  std::vector<std::uint32_t> row_of;
  row_of.reserve(rows.count());
  for (const RowRange& range : rows.ranges()) {
    for (std::uint32_t row = range.first; row < range.end; ++row) row_of.push_back(row);
  }
  std::vector<std::size_t> indices;
  indices.reserve(chosen.size());
  for (const auto& [key, index] : chosen) indices.push_back(index);
  std::sort(indices.begin(), indices.end());
  RowSet out;
  for (const std::size_t index : indices) out.add(row_of[index], row_of[index] + 1);
  for (auto& [key, index] : chosen) {
    index = static_cast<std::size_t>(std::lower_bound(indices.begin(), indices.end(), index) -
                                     indices.begin());
  }
  return out;
}

}  // namespace

BlockPart parts_for(const Predicate& predicate) {
  BlockPart parts = BlockPart::facts;
  if (needs_meta(predicate)) parts = parts | BlockPart::fields;
  if (needs_text(predicate)) parts = parts | BlockPart::text;
  return parts;
}

bool in_time(const ScanPlan& plan, UnixNanos time) {
  return (!plan.start || time >= *plan.start) && (!plan.end || time < *plan.end);
}

bool comes_before(Direction direction, const OrderKey& left, const OrderKey& right) {
  return direction == Direction::forward ? left < right : right < left;
}

bool in_plan(const ScanPlan& plan, const OrderKey& key) {
  return in_time(plan, key.time) && (!plan.after || comes_before(plan.direction, *plan.after, key));
}

Result<BlockRows> read_rows(BlockingToken& token, JobView& view, const BlockRef& block,
                            const ScanPlan& plan, const std::optional<OrderKey>& after,
                            bool verified, std::size_t keep) {
  BlockRows out;
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view, block));
  LGR_TRY(const CandidateRows asked, open.candidates(token, view, plan.predicate, verified));
  if (asked.rows.count() == 0) return out;
  verified = asked.exact;
  const BlockPart parts = verified ? BlockPart::facts : parts_for(plan.predicate);
  LGR_TRY(std::vector<Line> lines, open.lines(token, view, parts, asked.rows));

  const StreamJoin* join = view.join_of(block);
  LGR_CHECK(view.derive_iterations(token, *join, lines));
  std::vector<std::pair<OrderKey, std::size_t>> chosen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const OrderKey key{lines[i].time, join->facts->id, lines[i].offset};
    if (!in_plan(plan, key)) continue;
    if (after && !comes_before(plan.direction, *after, key)) continue;
    Row row(lines[i], *join);
    if (verified || matches(plan.predicate, row)) chosen.emplace_back(key, i);
  }
  if (chosen.empty()) return out;
  const auto earlier = [&](const auto& a, const auto& b) {
    return comes_before(plan.direction, a.first, b.first);
  };
  std::sort(chosen.begin(), chosen.end(), earlier);
  if (chosen.size() > keep) {
    chosen.resize(std::max<std::size_t>(keep, 1));
    out.more = true;
  }
  if (parts != kAllParts) {
    LGR_TRY(lines, open.lines(token, view, kAllParts, narrow(asked.rows, chosen)));
    LGR_CHECK(view.derive_iterations(token, *join, lines));
  }
  out.rows.reserve(chosen.size());
  for (const auto& [key, index] : chosen) {
    out.rows.push_back(QueryLine{std::move(lines[index]), join});
  }
  return out;
}

namespace {

Status visit_open(BlockingToken& token, JobView& view, const BlockRef& block, const OpenBlock& open,
                  const CandidateRows& asked, const ScanPlan& plan, BlockPart parts,
                  const std::vector<std::string>* keys,
                  const std::function<Status(const Line&)>& each) {
  if (asked.rows.count() == 0) return {};
  // The time is a fact, and it is looked at.
  parts = parts | (asked.exact ? BlockPart::facts : parts_for(plan.predicate));
  LGR_TRY(std::vector<Line> lines, open.lines(token, view, parts, asked.rows, keys));
  const StreamJoin* join = view.join_of(block);
  LGR_CHECK(view.derive_iterations(token, *join, lines));
  for (const Line& line : lines) {
    if (!in_time(plan, line.time)) continue;
    Row row(line, *join);
    if (asked.exact || matches(plan.predicate, row)) LGR_CHECK(each(line));
  }
  return {};
}

}  // namespace

Status visit_rows(BlockingToken& token, JobView& view, const BlockRef& block, const ScanPlan& plan,
                  bool verified, BlockPart parts, const std::vector<std::string>* keys,
                  const std::function<Status(const Line&)>& each) {
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view, block));
  LGR_TRY(const CandidateRows asked, open.candidates(token, view, plan.predicate, verified));
  return visit_open(token, view, block, open, asked, plan, parts, keys, each);
}

bool lies_in_time(const ScanPlan& plan, const BlockRef& block) {
  return in_time(plan, block.time_min) && in_time(plan, block.time_max);
}

Result<std::uint64_t> count_rows(BlockingToken& token, JobView& view, const BlockRef& block,
                                 const ScanPlan& plan, bool verified) {
  if (verified && lies_in_time(plan, block)) return std::uint64_t{block.lines};
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view, block));
  LGR_TRY(const CandidateRows asked, open.candidates(token, view, plan.predicate, verified));
  if (asked.exact && lies_in_time(plan, block)) return std::uint64_t{asked.rows.count()};
  std::uint64_t count = 0;
  const auto each = [&](const Line&) {
    ++count;
    return Status();
  };
  LGR_CHECK(visit_open(token, view, block, open, asked, plan, BlockPart::facts, nullptr, each));
  return count;
}

Result<std::vector<Line>> read_lines(BlockingToken& token, JobView& view, const BlockRef& block,
                                     BlockPart parts) {
  LGR_TRY(OpenBlock open, OpenBlock::open(token, view, block));
  return open.lines(token, view, parts, RowSet::all(open.reader().header().lines));
}

std::size_t memory_of(const QueryLine& line) {
  std::size_t bytes = sizeof(QueryLine) + line.line.raw.capacity() + line.line.callsite.capacity();
  for (const MetaPair& pair : line.line.meta) {
    bytes += sizeof(MetaPair) + pair.key.capacity();
    if (const auto* text = std::get_if<std::string>(&pair.value)) bytes += text->capacity();
  }
  bytes += line.line.extents.capacity() * sizeof(Extent);
  return bytes + line.line.events.capacity() * (sizeof(EventMark) + 48);
}

}  // namespace logarithm::aggregator
