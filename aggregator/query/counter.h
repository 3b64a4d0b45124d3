#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/pruner.h"
#include "aggregator/query/scan_turn.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// The number of lines of a plan, in turns. Blocks are pruned as by Scanner. One thread at a time;
// the view must outlive it.
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
