#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/pruner.h"
#include "aggregator/query/scan_turn.h"
#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {

// How far a block was taken without its lines.
enum class Taken : std::uint8_t { no, wholly };

using HeaderSource = std::function<Result<BlockHeader>()>;

// Takes the lines of a fold one after another and keeps sums of them, never the lines.
class LineSink {
 public:
  virtual ~LineSink() = default;
  // The columns that take() looks at; what the predicate looks at comes on its own.
  virtual BlockPart parts() const { return BlockPart::facts; }
  // With BlockPart::fields: the keys that it looks at; nullptr: all.
  virtual const std::vector<std::string>* keys() const { return nullptr; }
  // Every line of `block` is wanted. `wholly` when the block's own facts (or its header, which
  // costs a read) say all that take() would have learnt; then no line is decoded.
  virtual Result<Taken> take_block(const BlockRef& block, const StreamJoin& join,
                                   const HeaderSource& header);
  // An Error ends the fold.
  virtual Status take(const Line& line, const StreamJoin& join, const BlockRef& block) = 0;
};

// Gives all lines of a plan to a sink, in (stream, offset) order: an order that does not depend on
// how blocks were cut or sealed, so the same stored lines give the same sums to the last bit. Holds
// one block's lines at a time. plan.after and plan.direction say nothing here. The view and the
// sink must outlive it; one thread at a time.
class Fold {
 public:
  Fold(JobView& view, ScanPlan plan, LineSink& sink);
  Fold(const Fold&) = delete;
  Fold& operator=(const Fold&) = delete;

  // Asks `time_is_up` between blocks. A damaged block is left out and noted in the view.
  Result<ScanState> next(BlockingToken& token, const std::function<bool()>& time_is_up);

  const Predicate& predicate() const { return plan_.predicate; }
  const ScanStats& stats() const { return stats_; }

 private:
  Status load(BlockingToken& token);
  Status take_one(BlockingToken& token, const BlockRef& block);

  JobView& view_;
  ScanPlan plan_;
  LineSink& sink_;
  Pruner pruner_;
  bool loaded_ = false;
  std::vector<std::string> keys_;     // of metadata: the sink's and the predicate's
  bool all_keys_ = false;             // or all of them
  std::vector<BlockRef> candidates_;  // the next one is at the back
  ScanStats stats_;
};

}  // namespace logarithm::aggregator
