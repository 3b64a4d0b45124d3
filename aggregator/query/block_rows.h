#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "aggregator/query/cursor.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {

// Which lines are wanted, and in which order.
struct ScanPlan {
  Predicate predicate;
  std::optional<UnixNanos> start, end;  // order time in [start, end)
  Direction direction = Direction::backward;
  std::optional<OrderKey> after;  // strictly beyond this key in `direction`
};

// True when `time` lies in the plan's time range.
bool in_time(const ScanPlan& plan, UnixNanos time);
// True when `key` lies in the plan's time range and beyond plan.after.
bool in_plan(const ScanPlan& plan, const OrderKey& key);
// True when `left` comes before `right` in an answer of this direction.
bool comes_before(Direction direction, const OrderKey& left, const OrderKey& right);

struct BlockRows {
  std::vector<QueryLine> rows;  // in the plan's order
  bool more = false;            // the block holds more than `keep`
};

// The first `keep` lines of a block that fulfil the plan and lie beyond `after`, decoded in full.
// `verified`: the block is known to fulfil the predicate as a whole.
Result<BlockRows> read_rows(BlockingToken& token, JobView& view, const BlockRef& block,
                            const ScanPlan& plan, const std::optional<OrderKey>& after,
                            bool verified, std::size_t keep);

// Calls `each` for the lines of a block that fulfil the plan (but for plan.after), in offset order,
// decoded as far as `parts` and the predicate say; of the metadata all pairs, or with `keys` only
// those (which must hold the keys of the predicate). Nothing is called when the block is damaged.
Status visit_rows(BlockingToken& token, JobView& view, const BlockRef& block, const ScanPlan& plan,
                  bool verified, BlockPart parts, const std::vector<std::string>* keys,
                  const std::function<Status(const Line&)>& each);

// True when all lines of the block lie in the plan's time range.
bool lies_in_time(const ScanPlan& plan, const BlockRef& block);

// How many lines of a block fulfil the plan.
Result<std::uint64_t> count_rows(BlockingToken& token, JobView& view, const BlockRef& block,
                                 const ScanPlan& plan, bool verified);

// All of a line, and what a predicate looks at: other parts need not be decoded.
inline constexpr BlockPart kAllParts = BlockPart::facts | BlockPart::fields | BlockPart::text;
BlockPart parts_for(const Predicate& predicate);

// All lines of a block, in offset order.
Result<std::vector<Line>> read_lines(BlockingToken& token, JobView& view, const BlockRef& block,
                                     BlockPart parts = kAllParts);

// About what a line takes in memory, bytes.
std::size_t memory_of(const QueryLine& line);

}  // namespace logarithm::aggregator
