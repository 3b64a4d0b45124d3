#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/rank_survey.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// Sums up what processes and surveys of blocks say of ranks.
class GatheredRanks {
 public:
  // As far as is known by now; a rank that was not known is added.
  RankFacts& facts(std::int32_t rank) { return at(rank).facts; }

  // What a block of a stream says of the rank.
  void add(std::int32_t rank, const StreamJoin& join, const RankSurvey& survey);

  // When all surveys were added: hosts of ranks that nothing else states one of.
  void settle_hosts(const std::map<std::int32_t, std::string>& named);

  // When the first of the ranks said the iterations that were not looked at, from the store's
  // table: the longest step of a job is a matter of its whole life.
  Status add_history(BlockingToken& token, JobView& view);

  // Known ones.
  std::set<std::string> hosts() const;

  // How far the rank's stamps are ahead of the clock that files were read by, as far as is seen (on
  // its host; nanoseconds); nullopt when they are not. After settle_hosts().
  std::optional<std::int64_t> ahead(std::int32_t rank) const;

  // Complete, ascending by rank; leaves nothing behind.
  std::vector<RankFacts> finish();

 private:
  struct Gathered {
    RankFacts facts;
    std::map<std::int64_t, RankSurvey::Start> iterations;
    std::uint64_t seen = 0, stamped = 0;
    std::optional<std::string> left_out;  // axis, when it was not looked at from the beginning
    std::int64_t ahead = 0;
  };
  Gathered& at(std::int32_t rank);
  static void complete(Gathered& rank);

  std::map<std::int32_t, Gathered> ranks_;
  std::map<std::string, std::int64_t> ahead_;  // by clock: a host's, else a rank's own
};

}  // namespace logarithm::aggregator::triage
