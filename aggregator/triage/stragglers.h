#pragma once

#include <string>
#include <vector>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// Who keeps the others waiting: ranks that come to their line of an iteration later than their
// peers, again and again, by more than the peers differ among themselves; or whose own times, as
// they print them, are as much longer. What a clock's offset could explain is no lateness.
struct Late {
  const RankFacts* rank = nullptr;
  std::int64_t by = 0;     // nanoseconds, typically
  double share = 0;        // of the time that an iteration takes
  std::int64_t since = 0;  // iteration
  std::string shown_by;    // a template's text or a metric's name; empty: an iteration's first line
  TemplateId template_id = 0;  // of the lines that show it; 0: unknown
  bool waits_for_data = false;
  const EventFact* event = nullptr;  // that says so, when one does
  std::optional<LineRef> line;       // of another rank, which told the times of all
};
// The latest first.
std::vector<Late> find_stragglers(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
