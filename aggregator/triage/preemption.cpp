#include "aggregator/triage/preemption.h"

#include <algorithm>

namespace logarithm::aggregator::triage {
namespace {

// "Received 15 death signal": a launcher that was told; "Sending … SIGTERM": it tells its workers,
// for a reason of its own.
bool was_told(const EventFact& event) {
  return event.klass == "teardown" &&
         (!event.word("received").empty() || event.number("got").has_value() ||
          event.rule == "received-signal");
}

bool is_stop(const EventFact& event) { return event.kind == "preemption" || was_told(event); }

}  // namespace

std::optional<Candidate> find_preemption(const Analysis& analysis) {
  const EventFact* stop = nullptr;
  std::set<std::int32_t> told;
  for (const EventFact& event : analysis.facts.events) {
    if (!is_stop(event)) continue;
    const Outcome* outcome = event.rank ? analysis.of(*event.rank) : nullptr;
    if (outcome != nullptr && outcome->end == End::finished) continue;
    if (stop == nullptr || (event.kind == "preemption" && stop->kind != "preemption"))
      stop = &event;
    if (event.rank) told.insert(*event.rank);
  }
  if (stop == nullptr) return std::nullopt;
  // A failure of its own before the stop: the stop is what launchers do about it.
  for (const Outcome& outcome : analysis.outcomes) {
    const bool broke = outcome.end == End::root || outcome.end == End::cascade;
    if (broke && outcome.when.lo <= stop->when.hi) return std::nullopt;
  }
  for (const Report& report : analysis.reports) {
    if (report.event->when.lo <= stop->when.hi && report.status.value_or(0) != 0 &&
        report.status.value_or(0) != -15) {
      return std::nullopt;
    }
  }
  const bool by_scheduler = stop->kind == "preemption";
  const bool by_launcher = !stop->rank.has_value();
  if (!by_scheduler && !by_launcher && 2 * told.size() < analysis.outcomes.size()) {
    return std::nullopt;
  }
  Candidate out;
  out.kind = "preemption";
  out.event = stop;
  out.when = stop->when;
  out.timed = false;
  out.claim = by_scheduler ? "the scheduler ended it" : "it was told to stop from outside";
  out.confidence = by_scheduler ? 0.95 : 0.85;
  return out;
}

}  // namespace logarithm::aggregator::triage
