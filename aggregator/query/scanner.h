#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/pruner.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

struct ScanLimits {
  std::size_t memory = 256u << 20;  // of decoded lines held at once, about, bytes
  std::size_t keep = SIZE_MAX;      // lines of one block that can be wanted: the page's limit
  bool prune = true;                // off only to prove that pruning changes no answer
};

// Lines wanted from one turn.
struct ScanTurn {
  std::size_t max_rows = SIZE_MAX;
  std::size_t max_bytes = SIZE_MAX;  // stops after the row that passes it
  std::function<bool()> time_is_up;  // asked between blocks; empty: never
};

enum class ScanState : std::uint8_t {
  more,  // the turn is full or its time is up; call again
  finished
};

struct ScanStats {
  std::uint64_t blocks = 0, pruned = 0, decoded = 0;
  std::uint64_t lines = 0;  // decoded in full, again counted again
};

// All lines of a plan in strict (time, stream, offset) order, by a merge over blocks that overlap
// in time: a line leaves only when no unread block can hold an earlier one. Decoded lines are
// bounded by memory: of each block that is open at once its share is decoded, the rest later; over
// the bound, the largest runs forget their tails. One thread at a time; the view must outlive it.
class Scanner {
 public:
  Scanner(JobView& view, ScanPlan plan, ScanLimits limits);
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  // Appends to `out`. An Error ends the scan.
  Result<ScanState> next(BlockingToken& token, const ScanTurn& turn, std::vector<QueryLine>& out);

  const ScanPlan& plan() const { return plan_; }
  const ScanStats& stats() const { return stats_; }

 private:
  // Matching lines of one block; the next one is at the back.
  struct Run {
    BlockRef block;
    bool verified = false;
    bool more = false;  // the block holds lines beyond rows.front()
    std::size_t bytes = 0;
    std::vector<QueryLine> rows;
  };

  Status load_candidates(BlockingToken& token);
  bool next_block_may_come_first() const;
  Status open_next_block(BlockingToken& token);
  Status fill(BlockingToken& token, Run run, const std::optional<OrderKey>& after);
  std::size_t share() const;
  void push(Run run);
  Run pop();
  void forget_tails();

  JobView& view_;
  ScanPlan plan_;
  ScanLimits limits_;
  Pruner pruner_;
  bool loaded_ = false;
  std::vector<BlockRef> candidates_;  // the next one is at the back
  std::vector<Run> runs_;             // a heap: the run with the first line is in front
  std::size_t bytes_ = 0;
  ScanStats stats_;
};

// The number of lines of a plan, in turns. Same rules as Scanner.
class Counter {
 public:
  Counter(JobView& view, ScanPlan plan);
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  Result<ScanState> next(BlockingToken& token, const std::function<bool()>& time_is_up);
  std::uint64_t count() const { return count_; }
  const Predicate& predicate() const { return plan_.predicate; }

 private:
  Result<std::uint64_t> count_block(BlockingToken& token, const BlockRef& block);

  JobView& view_;
  ScanPlan plan_;
  Pruner pruner_;
  bool loaded_ = false;
  std::vector<BlockRef> candidates_;
  std::uint64_t count_ = 0;
};

}  // namespace logarithm::aggregator
