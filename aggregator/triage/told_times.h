#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/facts.h"
#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/line/line.h"

namespace logarithm::aggregator::triage {

// The key of a time of another rank (rule megatron-rank-time).
inline constexpr std::string_view kRankTime = "rank_time_ms";
inline constexpr std::size_t kTold = 128;   // kept of a timer and rank
inline constexpr std::size_t kTimers = 16;  // of a block

// Collects what one rank prints of all ranks' times in a block: under a line that names the timer
// there is one for each rank.
class Teller {
 public:
  // Lines come ascending by offset.
  void add(const StreamId& stream, const Line& line);

  // By the texts of the timers' lines, which are looked up in the block's shard.
  Status finish(BlockingToken& token, JobView& view, const BlockRef& block, ToldTimes& out);

 private:
  TemplateId timer_ = 0;  // of the line above
  std::map<TemplateId, std::map<std::int32_t, std::vector<ToldTime>>> told_;
};

// Appends what the block that follows tells.
void add_told(ToldTimes& into, const ToldTimes& next);

}  // namespace logarithm::aggregator::triage
