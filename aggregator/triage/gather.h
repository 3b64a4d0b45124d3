#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/attempt_blocks.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/gathered_ranks.h"
#include "aggregator/triage/survey_cache.h"

namespace logarithm::aggregator::triage {

// What is known of a host's clock, ascending (Storage::clock_history).
using ClockHistory =
    std::function<Result<std::vector<ClockReading>>(BlockingToken&, const std::string& host)>;

struct GatherOptions {
  std::optional<std::int32_t> attempt;  // absent: the newest
  UnixNanos now = 0;
  LineLimits lines;
  ClockHistory clocks;  // empty: none is known
};

// Fills the facts of an attempt from a job's stored blocks and processes, in turns. Looks at
// columns, not at text. `host_view` is the job of streams that belong to no job (kernel logs);
// null when there is none. All references must outlive it.
class Gatherer {
 public:
  Gatherer(JobView& view, JobView* host_view, SurveyCache& cache, GatherOptions options);

  // True when facts() is filled; false: call again. Error{not_found} for an attempt that is not
  // there.
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up);

  const Facts& facts() const { return facts_; }
  // Attempts that the job has, ascending.
  const std::vector<std::int32_t>& attempts() const { return attempts_; }

 private:
  Status plan(BlockingToken& token);
  Status plan_hosts(BlockingToken& token);
  void infer_ranks();
  std::optional<std::int32_t> rank_of_lines(const StreamJoin& join,
                                            std::optional<std::int32_t> wrapper_rank) const;
  void take_lines(const BlockWork& work, const BlockSurvey& survey);
  void note_ignored(const BlockWork& work, const BlockSurvey& survey);
  void take_events(const BlockWork& work, const BlockSurvey& survey);
  Status read_clocks(BlockingToken& token);
  std::optional<std::int64_t> iteration_at(std::int32_t rank, UnixNanos time) const;
  void add_processes();
  void finish_events();

  JobView& view_;
  JobView* host_view_;
  SurveyCache& cache_;
  GatherOptions options_;
  Facts facts_;
  std::vector<std::int32_t> attempts_;
  bool planned_ = false, hosts_planned_ = false;
  std::vector<BlockWork> work_;
  std::set<LineRef> ignored_;  // heads of records that Python passed over
  std::vector<std::shared_ptr<const BlockSurvey>> surveys_;  // of work_, as far as it was done
  std::map<std::string, std::int32_t> inferred_;             // place (see place_ranks.h) -> rank
  std::map<std::int32_t, std::string> hosts_;                // of ranks, where NCCL names them
  AttemptLife life_;
  GatheredRanks ranks_;
};

}  // namespace logarithm::aggregator::triage
