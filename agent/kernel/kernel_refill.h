#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "agent/kernel/kernel_blocks.h"
#include "agent/ports/stream_log.h"
#include "common/model/ranges.h"

namespace logarithm::agent {

// What the aggregator had acknowledged of kernel streams and does not hold any more: asked after
// every connect, taken from the log, else from the ring, else told as a gap. File thread only;
// collaborators outlive it.
class KernelRefill {
 public:
  KernelRefill(StreamLog& log, StreamOracle& oracle, Clock& clock)
      : log_(log), oracle_(oracle), clock_(clock) {}

  // Kernel streams of other boots, which no ring holds any more.
  void add_former(StreamCheckpoint checkpoint) { former_.push_back(std::move(checkpoint)); }
  // One bounded turn, `current` being the checkpoint of this boot. True: the ring is to be read
  // again from its oldest record, and every record given to take().
  Result<bool> step(BlockingToken& token, const StreamCheckpoint& current, const RuleSet& rules);

  bool reading() const { return reading_; }
  // The next record of the ring. Error{no_space}: the log is full; step() begins anew.
  Status take(BlockingToken& token, const KernelRecord& record, const StreamCheckpoint& current);
  // The ring has been read to where the stream stood, or to its end.
  Status end_of_ring(BlockingToken& token, const StreamCheckpoint& current);

 private:
  struct Asked {
    StreamCheckpoint checkpoint;
    std::vector<Range> believed;
  };
  struct Lost {
    StreamCheckpoint checkpoint;
    std::vector<Range> ranges;
    bool current = false, searched = false;
    std::uint64_t next_segment = 0;
  };
  void ask(const StreamCheckpoint& checkpoint);
  bool compared(const Asked& asked, const StreamCheckpoint& current);
  Status append(BlockingToken& token, const StreamCheckpoint& current);
  Status close_range(BlockingToken& token, const StreamCheckpoint& current);

  StreamLog& log_;
  StreamOracle& oracle_;
  Clock& clock_;
  std::vector<StreamCheckpoint> former_;
  std::uint64_t session_ = 0;  // 0: none yet
  std::vector<Asked> asked_;
  std::deque<Lost> lost_;
  bool reading_ = false;
  const RuleSet* rules_ = nullptr;
  std::unique_ptr<KernelBlocks> blocks_;  // of the front's first range
};

}  // namespace logarithm::agent
