#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/block_merge.h"
#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/match_cache.h"
#include "aggregator/query/pruner.h"
#include "aggregator/query/scan_turn.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// A line without what it says: enough to order it, and to pair it with others. Valid while its scan
// and view live.
struct Mark {
  const StreamJoin* join = nullptr;
  UnixNanos time = 0;
  std::uint64_t offset = 0;
  std::optional<std::int64_t> iteration;
  std::optional<std::int32_t> wrapper_rank;
  const std::string* word = nullptr;  // of the metadata key that was asked for
};
OrderKey key_of(const Mark& mark);
inline std::size_t memory_of(const Mark&) { return sizeof(Mark); }
std::optional<std::int32_t> rank_of(const Mark& mark);

struct MarkLimits {
  std::size_t memory = 128u << 20;  // of marks held at once, about, bytes
  std::string word_key;             // a metadata key whose text marks carry; empty: none
  MatchCache* cache = nullptr;      // what is known of blocks; must outlive the scan
};

// The marks of all lines of a plan in (time, stream, offset) order: as Scanner, forward, but no
// text is made and a block is not even read when the cache knows its answer. One thread at a time;
// the view must outlive it.
class MarkScanner {
 public:
  MarkScanner(JobView& view, ScanPlan plan, MarkLimits limits);
  MarkScanner(const MarkScanner&) = delete;
  MarkScanner& operator=(const MarkScanner&) = delete;

  // Appends to `out`. An Error ends the scan.
  Result<ScanState> next(BlockingToken& token, const ScanTurn& turn, std::vector<Mark>& out);

  // Lines of versions for which `wanted` does not hold are counted and not given; those without an
  // iteration are given all the same when `with_iteration`. Before the first next().
  void give_only(std::function<bool(const StreamJoin&)> wanted, bool with_iteration) {
    wanted_ = std::move(wanted);
    with_iteration_ = with_iteration;
  }
  std::uint64_t counted() const { return counted_; }

  const ScanStats& stats() const { return stats_; }

 private:
  using Run = BlockMerge<Mark>::Run;

  Status load(BlockingToken& token);
  Status fill(BlockingToken& token, const BlockRef& block, const std::optional<OrderKey>& after);
  // The marks of a block's lines that fulfil the predicate, whatever their time.
  Result<MatchCache::Marks> marks_of(BlockingToken& token, const BlockRef& block);
  Result<std::vector<RowMark>> read_marks(BlockingToken& token, const BlockRef& block);
  Result<std::vector<Mark>> marks_with_words(BlockingToken& token, const BlockRef& block);
  Result<std::vector<Mark>> joined(BlockingToken& token, const BlockRef& block);
  // How many lines of a block fulfil the plan, where nothing else is asked of them; else nullopt.
  Result<std::optional<std::uint64_t>> count_only(BlockingToken& token, const BlockRef& block);
  MatchCache::BlockKey cache_key(const BlockRef& block) const;
  // Null where the answer depends on more than the block.
  MatchCache::Handle question_of(const StreamJoin& join);

  JobView& view_;
  ScanPlan plan_;
  MarkLimits limits_;
  Pruner pruner_;
  bool loaded_ = false;
  BlockMerge<Mark> merge_;
  std::function<bool(const StreamJoin&)> wanted_;  // empty: all
  bool with_iteration_ = false;
  std::uint64_t counted_ = 0;
  std::set<std::string> words_;
  std::map<const StreamJoin*, MatchCache::Handle> questions_;
  ScanStats stats_;
};

// The lines of a stream (an index into streams()) at `offsets`, which ascend, as far as they lie in
// the block of the first of them, decoded in full. Empty when that block is damaged (which is
// noted) or not there.
Result<std::vector<Line>> lines_at(BlockingToken& token, JobView& view, std::size_t stream,
                                   const std::vector<std::uint64_t>& offsets);

}  // namespace logarithm::aggregator
