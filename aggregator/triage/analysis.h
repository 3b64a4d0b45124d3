#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/triage/clocks.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/outcomes.h"
#include "aggregator/triage/reports.h"
#include "aggregator/triage/verdict.h"

namespace logarithm::aggregator::triage {

// What all steps of the decision look at. The facts must outlive it.
struct Analysis {
  explicit Analysis(const Facts& given);

  const Facts& facts;
  Clocks clocks;
  std::vector<Outcome> outcomes;
  std::vector<Report> reports;

  std::vector<const Outcome*> with(End end) const;
  const Outcome* of(std::int32_t rank) const;
};

// "start", "training", "checkpoint" or "end".
std::string phase_of(const Analysis& analysis);

// The iteration that most ranks said last; nullopt when none did.
std::optional<std::int64_t> common_iteration(const Facts& facts);

// The longest time between two neighbouring iterations that a rank said, over all ranks;
// nanoseconds. Of many the longest but one: a single hiccup measures nothing. nullopt when no rank
// said three.
std::optional<std::int64_t> longest_step(const Facts& facts);

// Ranks that broke together, or were the first to.
struct Candidate {
  std::vector<std::int32_t> ranks;
  std::string kind;
  const RankFacts* at = nullptr;     // of which `when` is
  Span when;                         // on its clock
  const EventFact* event = nullptr;  // that shows it; nullptr: what is missing shows it
  std::optional<LineRef> line;       // that shows it, when it is no event
  std::string claim;
  double confidence = 0;
  std::optional<std::int64_t> iteration;
  bool timed = true;  // `when` is when it broke; not, when it is only when it was last heard of
};

// Fills `first` of a verdict from a candidate: place, time, and how it lies to all other ranks that
// failed (`others`, the candidate's own left out).
First first_of(const Analysis& analysis, const Candidate& candidate,
               const std::vector<const Outcome*>& others);

// "rank 2", "ranks 0-3,7".
std::string name_ranks(const std::set<std::int32_t>& ranks);
std::set<std::int32_t> as_set(const std::vector<std::int32_t>& ranks);
double as_ms(std::int64_t nanoseconds);

}  // namespace logarithm::aggregator::triage
