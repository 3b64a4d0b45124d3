#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/rank_survey.h"
#include "aggregator/triage/survey_depth.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// What triage keeps of a block's lines.
struct BlockSurvey {
  struct Event {
    std::optional<std::int32_t> wrapper_rank;
    EventFact fact;          // without rank and host, which are joined
    std::uint64_t head = 0;  // of its record
    bool stamped = false;
    std::optional<UnixNanos> next;  // its rank's next stamp in this stream: it was said before that
  };
  std::map<std::optional<std::int32_t>, RankSurvey> ranks;  // by the wrapper's rank
  std::vector<Event> events;
  // Heads of records that Python printed and passed over ("Exception ignored in …"): their lines
  // are no events and nobody's last words. What of such a record is in a later block names its
  // head.
  std::set<std::uint64_t> ignored;
  std::map<TemplateId, std::string> texts;  // of arrivals
  ToldTimes told;                           // by the text of the line above them
  // A line that names another process and its rank, as a driver's table does.
  struct Mention {
    std::int64_t pid = 0, rank = 0;
  };
  std::vector<Mention> mentions;
  std::uint64_t events_left_out = 0;
};

inline constexpr std::size_t kMentions = 8192;  // of a block

// One pass over a block, as deep as is asked for: times, iterations, marks and metadata; no text. A
// damaged block is left out and noted in the view.
Result<std::shared_ptr<const BlockSurvey>> survey_block(BlockingToken& token, JobView& view,
                                                        const BlockRef& block,
                                                        Depth depth = kWholeBlock);

}  // namespace logarithm::aggregator::triage
