#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/block_survey.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/verdict.h"

namespace logarithm::aggregator::triage {

// What is known of a host's clock, ascending (Storage::clock_history).
using ClockHistory =
    std::function<Result<std::vector<ClockReading>>(BlockingToken&, const std::string& host)>;

struct GatherOptions {
  std::optional<std::int32_t> attempt;  // absent: the newest
  UnixNanos now = 0;
  std::uint64_t most_lines = 20'000'000;  // in blocks, the newest of each stream first
  // Over so many lines only the newest of each stream are looked at one by one, as many of each;
  // of the others those around marks.
  std::uint64_t whole_lines = 262'144;
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
  struct Work {
    BlockRef block;
    bool of_hosts = false;  // of host_view
    bool shared = false;    // its stream states no attempt
    Depth depth = kWholeBlock;
  };

  Status plan(BlockingToken& token);
  void choose_blocks(std::map<std::size_t, std::vector<Work>> of_stream);
  Status plan_hosts(BlockingToken& token);
  void choose_attempt();
  void infer_ranks();
  std::optional<std::int32_t> rank_of_lines(const StreamJoin& join,
                                            std::optional<std::int32_t> wrapper_rank) const;
  void take_lines(const Work& work, const BlockSurvey& survey);
  void take_rank(std::int32_t rank, const StreamJoin& join, const RankSurvey& survey);
  void note_ignored(const Work& work, const BlockSurvey& survey);
  void take_events(const Work& work, const BlockSurvey& survey);
  RankFacts& rank_facts(std::int32_t rank);
  void settle_hosts();
  Status add_history(BlockingToken& token);
  Status read_clocks(BlockingToken& token);
  std::optional<std::int64_t> iteration_at(std::int32_t rank, UnixNanos time) const;
  void add_processes();
  void finish();

  JobView& view_;
  JobView* host_view_;
  SurveyCache& cache_;
  GatherOptions options_;
  Facts facts_;
  std::vector<std::int32_t> attempts_;
  bool planned_ = false, hosts_planned_ = false;
  std::vector<Work> work_;
  std::set<LineRef> ignored_;  // heads of records that Python passed over
  std::vector<std::shared_ptr<const BlockSurvey>> surveys_;  // of work_, as far as it was done
  std::map<std::string, std::int32_t> inferred_;             // place (see place_ranks.h) -> rank
  std::map<std::int32_t, std::string> hosts_;                // of ranks, where NCCL names them
  UnixNanos from_ = INT64_MAX, to_ = INT64_MIN;  // when the attempt's lines were written
  // Lines that state no attempt are this one's from `begin_` to `end_`: a launcher's report of an
  // attempt comes before the next one begins.
  UnixNanos begin_ = INT64_MIN, end_ = INT64_MAX;
  std::map<std::int32_t, std::size_t> positions_;  // rank -> place in facts_.ranks
  std::map<std::int32_t, std::map<std::int64_t, RankSurvey::Start>> iterations_;
  std::map<std::int32_t, std::uint64_t> seen_, stamped_;
  std::map<std::int32_t, std::string> left_out_;  // axis of ranks not looked at from the beginning
  std::map<std::int32_t, std::int64_t> rank_ahead_;
  // By clock (a host, else a rank of its own): how far its stamps are ahead of the clock that files
  // were read by, as far as is seen.
  std::map<std::string, std::int64_t> ahead_;
};

// Reads the texts of a verdict's evidence.
Status fill_texts(BlockingToken& token, JobView& view, JobView* host_view, Verdict& verdict);

}  // namespace logarithm::aggregator::triage
