#include "aggregator/triage/hardware.h"

#include <algorithm>
#include <set>

#include "aggregator/triage/kinds.h"

namespace logarithm::aggregator::triage {
namespace {

// A kernel's word counts from so long before a failure until so long after it, nanoseconds.
constexpr std::int64_t kBefore = 600'000'000'000, kAfter = 60'000'000'000;
// Uptimes and wall clocks of one host agree that well.
constexpr std::int64_t kSameMoment = 2'000'000'000;

std::set<std::int32_t> on_its_host(const Facts& facts, const EventFact& event) {
  std::set<std::int32_t> out;
  const std::string host = event.host.empty() ? event.word("host") : event.host;
  for (const RankFacts& rank : facts.ranks) {
    if (!rank.host.empty() && rank.host == host) out.insert(rank.rank);
  }
  return out;
}

// Of ranks that said nothing after the event, the few; where most did not, that tells nothing.
std::set<std::int32_t> silenced_by(const Facts& facts, const EventFact& event) {
  std::set<std::int32_t> out;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.last_time <= event.when.hi) out.insert(rank.rank);
  }
  if (2 * out.size() >= facts.ranks.size()) out.clear();
  return out;
}

// Its last word is one of its routine: it was in the middle of it.
bool stopped_midway(const Outcome& outcome) {
  const auto& process = outcome.rank->process;
  if (process && process->exit_status == 0) return false;
  if (outcome.end != End::finished) return true;
  const TailLine* last = last_normal(*outcome.rank);
  return last != nullptr && last->iteration && !last->has(line_flag::derived_iteration);
}

// When the rank failed that the kernel speaks of. A complaint without a stamp lies anywhere since
// the last line that has one; what broke it was before it, by the same host's clock.
Span failed_at(const Outcome& outcome, const EventFact& event) {
  if (outcome.end == End::wordless) return event.when;
  Span out = outcome.when;
  if (event.when.lo <= out.hi) out.lo = std::max(out.lo, event.when.lo);
  return out;
}

}  // namespace

std::optional<Candidate> hardware_behind(const Analysis& analysis, const Candidate& seen) {
  UnixNanos until = seen.when.hi;
  for (const Outcome& outcome : analysis.outcomes) {
    const bool failed = outcome.end == End::root || outcome.end == End::cascade;
    if (failed) until = std::max(until, outcome.when.hi);
    // Who died without a word did so while its peers still spoke, however long it had been silent.
    if (!seen.timed) until = std::max(until, outcome.rank->last_heard());
  }
  std::optional<Candidate> best;
  int weight = 0;
  for (const EventFact& event : analysis.facts.kernel) {
    if (!is_hard(event) || weight_of(event.kind) <= weight) continue;
    std::set<std::int32_t> ranks = ranks_meant(analysis.facts, event);
    const bool exact = !ranks.empty();
    if (!exact) {
      for (const RankFacts& rank : analysis.facts.ranks) {
        if (!rank.host.empty() && rank.host == event.host) ranks.insert(rank.rank);
      }
      // Of a host's ranks, those that broke first.
      std::set<std::int32_t> candidates = as_set(seen.ranks);
      std::erase_if(candidates, [&](std::int32_t rank) {
        return !event.host.empty() && !ranks.contains(rank);
      });
      ranks = candidates;
    }
    if (ranks.empty()) continue;
    const Outcome* outcome = analysis.of(*ranks.begin());
    if (outcome == nullptr) continue;
    const auto& process = outcome->rank->process;
    if (process && process->exit_status == 0) continue;
    // What the job survived breaks it no more, unless it is its own rank that breaks.
    EventFact placed = event;
    placed.rank = outcome->rank->rank;
    const bool broke = outcome->end == End::root || outcome->end == End::wordless;
    if (!broke && job_went_on(analysis.facts, analysis.clocks, placed)) continue;
    // A death without a word lies between its last line and what the others said of it.
    if (event.when.lo > until + kAfter || event.when.hi < seen.when.lo - kBefore) continue;
    // A rank that names another cause of its own had no need of this one.
    const bool explains = exact || broke || seen.kind == "killed";
    if (!explains) continue;
    // Nor one that had named its cause before the kernel said a word, by the same host's clock.
    const bool named_before =
        outcome->end == End::root && event.when.lo > outcome->when.hi + kSameMoment;
    if (!exact && named_before) continue;
    Candidate out;
    out.ranks.assign(ranks.begin(), ranks.end());
    out.kind = event.kind;
    out.at = outcome->rank;
    out.when = failed_at(*outcome, event);
    out.event = &event;
    out.claim = "the kernel of " + (event.host.empty() ? "a host" : event.host) + " reports " +
                event.kind + " for " + name_ranks(ranks);
    out.confidence = exact ? 0.95 : 0.8;
    weight = weight_of(event.kind);
    best = std::move(out);
  }
  return best;
}

std::optional<Candidate> find_broken_hardware(const Analysis& analysis, bool hung) {
  const Facts& facts = analysis.facts;
  if (facts.ranks.empty() || (facts.live && !hung)) return std::nullopt;
  if (std::none_of(analysis.outcomes.begin(), analysis.outcomes.end(), stopped_midway)) {
    return std::nullopt;
  }
  UnixNanos last = INT64_MIN;
  for (const RankFacts& rank : facts.ranks) last = std::max(last, rank.last_time);
  const EventFact* worst = nullptr;
  std::set<std::int32_t> ranks;
  for (const EventFact& event : facts.kernel) {
    if (!is_hard(event) || event.when.lo > last + kAfter) continue;
    const bool fatal = is_fatal(event);
    // A hang has causes of its own: only what lets nothing go on explains it.
    if (hung && !fatal) continue;
    const bool worse =
        worst == nullptr || fatal > is_fatal(*worst) ||
        (fatal == is_fatal(*worst) && weight_of(event.kind) > weight_of(worst->kind));
    if (!worse) continue;
    std::set<std::int32_t> meant = ranks_meant(facts, event);
    if (meant.empty()) meant = on_its_host(facts, event);
    // What may well be survived must have hit one of the ranks.
    if (meant.empty() && !fatal) continue;
    EventFact placed = event;
    if (!meant.empty()) placed.rank = *meant.begin();
    if (job_went_on(facts, analysis.clocks, placed)) continue;
    worst = &event;
    ranks = meant.empty() ? silenced_by(facts, event) : std::move(meant);
  }
  if (worst == nullptr) return std::nullopt;
  const std::string host = worst->host.empty() ? worst->word("host") : worst->host;
  Candidate out;
  out.kind = worst->kind;
  out.when = worst->when;
  out.event = worst;
  out.timed = false;
  out.ranks.assign(ranks.begin(), ranks.end());
  if (!ranks.empty()) out.at = analysis.of(*ranks.begin())->rank;
  out.claim = "the kernel of " + (host.empty() ? "a host" : host) + " reports " + worst->kind;
  if (const auto code = worst->number("xid")) out.claim += " " + std::to_string(*code);
  out.claim += ", and no rank went on after it";
  out.confidence = is_fatal(*worst) ? 0.85 : 0.6;
  return out;
}

std::vector<Hardware> hardware_of(const Analysis& analysis) {
  std::vector<Hardware> out;
  for (const EventFact& event : analysis.facts.kernel) {
    if (event.kind == "teardown") continue;
    Hardware row;
    row.kind = event.kind;
    row.host = event.host;
    row.device = event.word("pci").empty() ? event.word("dev") : event.word("pci");
    const std::set<std::int32_t> ranks = ranks_meant(analysis.facts, event);
    if (ranks.size() == 1) row.rank = *ranks.begin();
    row.code = event.number("xid") ? event.number("xid") : event.number("sxid");
    row.time = event.when.lo;
    row.line = event.line;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace logarithm::aggregator::triage
