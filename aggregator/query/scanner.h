#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator/query/block_merge.h"
#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/pruner.h"
#include "aggregator/query/scan_turn.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

struct ScanLimits {
  std::size_t memory = 256u << 20;  // of decoded lines held at once, about, bytes
  std::size_t keep = SIZE_MAX;      // lines of one block that can be wanted: the page's limit
  bool prune = true;                // off only to prove that pruning changes no answer
};

// All lines of a plan in strict (time, stream, offset) order (see BlockMerge). Of each block that
// is open at once its share of the memory is decoded, the rest later. One thread at a time; the
// view must outlive it.
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
  using Run = BlockMerge<QueryLine>::Run;

  Status load(BlockingToken& token);
  Status open(BlockingToken& token, const BlockRef& block);
  Status fill(BlockingToken& token, Run run, const std::optional<OrderKey>& after);
  std::size_t share() const;

  JobView& view_;
  ScanPlan plan_;
  ScanLimits limits_;
  Pruner pruner_;
  bool loaded_ = false;
  BlockMerge<QueryLine> merge_;
  ScanStats stats_;
};

}  // namespace logarithm::aggregator
