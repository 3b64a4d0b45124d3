#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aggregator/triage/analysis.h"
#include "aggregator/triage/lateness.h"

namespace logarithm::aggregator::triage {

// What can be compared between ranks iteration by iteration. Points into the facts.
struct RankSeries {
  std::vector<const RankFacts*> ranks;
  std::vector<Row> rows;  // ascending by iteration; all ranks are in each
  std::string name;       // a template's text, a timer's or a metric's; empty: the first lines
  TemplateId template_id = 0;
  bool of_clocks = true;  // times of day, which clocks may shift
  double grain = 0;       // of these: what their stamps cannot tell apart, nanoseconds
  const std::map<std::int32_t, std::vector<ToldTime>>* told = nullptr;  // by one rank of all
};

// When lines of the same template were said (clocks' offsets taken off; where there are no such
// lines, when iterations began), times that one rank prints of all, times that ranks print of
// themselves; each of more than half of the ranks.
std::vector<RankSeries> all_series(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
