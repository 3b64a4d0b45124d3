#include "aggregator/triage/hang.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "aggregator/triage/odd_ranks.h"

namespace logarithm::aggregator::triage {
namespace {

// So many of its longest steps must pass without the next iteration where a rank only says more
// than the others (it may evaluate, or save); in a checkpoint, which no step measures, as many.
// Where it lacks what they said, kSteps.
constexpr std::int64_t kStepsOfMore = 30;
// Files end at some moment: what is quiet there is quiet for at least this many tenths of a step;
// of one where a rank both lacks a line and says another.
constexpr std::int64_t kTenthsOfFiles = 15, kTenthsOfBoth = 10;
// So many iterations measure a step by the time that all took; the longest of them are longer.
constexpr std::size_t kMeasured = 8;
constexpr std::int64_t kUneven = 3;

struct Quiet {
  std::int64_t since = 0;   // no rank said a further iteration, nanoseconds
  std::int64_t step = 0;    // the longest time between two that a rank said
  std::size_t watched = 0;  // living processes
  bool starting = false;    // `step` is the time of all that was said yet
};

// When the rank last said a further iteration, on its own clock. A heartbeat says the same one
// again and again, and is no progress.
UnixNanos progress_of(const RankFacts& rank) {
  UnixNanos out = rank.iterations.empty() ? INT64_MIN : rank.iterations.back().time;
  std::set<std::pair<TemplateId, std::int64_t>> seen;
  for (const TailLine& line : rank.tail) {
    if (!line.says_iteration() || !seen.emplace(line.template_id, *line.iteration).second) continue;
    out = std::max(out, line.latest());
  }
  return out;
}

// When lines were observed tells when they were said: where a rank's last line says its time, it
// was observed then. Not so of files that were copied without their times.
bool is_observed_in_time(const Facts& facts) {
  std::size_t stamped = 0, in_time = 0;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.tail.empty() || rank.tail.back().has(line_flag::derived_time)) continue;
    const TailLine& last = rank.tail.back();
    ++stamped;
    if (std::abs(last.observed - last.time) <= kOtherClock) ++in_time;
  }
  return 2 * in_time > stamped;
}

// nullopt when a rank has ended, or there is nothing to go by.
std::optional<Quiet> quiet_of(const Analysis& analysis) {
  const Facts& facts = analysis.facts;
  if (facts.ranks.size() < 2) return std::nullopt;
  Quiet out;
  UnixNanos first = INT64_MAX, last = INT64_MIN, progress = INT64_MIN;
  std::uint64_t lines = 0;
  std::size_t said = 0;
  const bool in_time = is_observed_in_time(facts);
  for (const RankFacts& rank : facts.ranks) {
    if (rank.process && rank.process->exit) return std::nullopt;
    if (rank.process && rank.process->alive) ++out.watched;
    const auto offset = analysis.clocks.between(rank, facts.ranks.front());
    const std::int64_t ahead = offset ? offset->estimate : 0;
    if (rank.process) first = std::min(first, rank.process->start);
    if (rank.lines == 0) continue;
    lines += rank.lines;
    first = std::min(first, rank.first_time - ahead);
    last = std::max(last, (in_time ? rank.last_heard() : rank.last_time) - ahead);
    const UnixNanos own = progress_of(rank);
    if (own != INT64_MIN) progress = std::max(progress, own - ahead);
    said = std::max(said, rank.said);
  }
  if (lines == 0) return std::nullopt;
  // Files say no more than that somebody still spoke, or a kernel of a blocked process.
  UnixNanos until = out.watched > 0 ? facts.as_of : last;
  for (const EventFact& event : facts.kernel) {
    if (event.kind == "hang") until = std::max(until, event.when.lo);
  }
  // Before the third iteration nothing measures it but the time that the start took so far.
  auto step = longest_step(facts);
  // Or how many were said in all, where no line says when.
  if (!step && said >= kMeasured) step = kUneven * (last - first) / static_cast<std::int64_t>(said);
  out.starting = !step;
  out.step = step.value_or(last - first);
  out.since = until - (progress == INT64_MIN ? last : progress);
  return out;
}

// What sets ranks apart from their peers: the more it says, the less patience it needs.
enum class Apart { more, lacks, both };

bool too_quiet(const Analysis& analysis, const Quiet& quiet, Apart apart) {
  if (quiet.watched == 0) {
    const std::int64_t tenths = apart == Apart::both ? kTenthsOfBoth : kTenthsOfFiles;
    return 10 * quiet.since > tenths * quiet.step + 10 * kDelivery;
  }
  const bool saving = phase_of(analysis) == "checkpoint";
  const bool short_wait = apart != Apart::more && !saving && !quiet.starting;
  const std::int64_t steps = short_wait ? kSteps : kStepsOfMore;
  return quiet.since > steps * quiet.step + kDelivery;
}

// The rank goes on after this line on another output, so long that no two clocks explain it: what
// NCCL says at the start stays the last line of many a stdout. Two stamps of a rank are of one
// clock.
bool is_outlived(const RankFacts& rank, const TailLine& line) {
  const bool stamped = !line.has(line_flag::derived_time);
  const UnixNanos until = line.latest() + (stamped ? kDelivery : kOtherClock);
  return std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& other) {
    return other.line.stream != line.line.stream && !other.has(line_flag::derived_time) &&
           other.time > until;
  });
}

// Every rank's last words on one of its outputs are the same, and it said them once: the end.
bool said_the_end(const Facts& facts) {
  std::map<TemplateId, std::size_t> ends;
  for (const RankFacts& rank : facts.ranks) {
    std::map<TemplateId, std::size_t> times;
    std::map<StreamId, const TailLine*> last;
    for (const TailLine& line : rank.tail) {
      ++times[line.template_id];
      const TailLine*& newest = last[line.line.stream];
      if (newest == nullptr || newest->line.offset < line.line.offset) newest = &line;
    }
    std::set<TemplateId> mine;
    for (const auto& [stream, line] : last) {
      const bool once = times[line->template_id] == 1 && !line->says_iteration();
      if (!once || is_outlived(rank, *line)) continue;
      mine.insert(line->template_id);
    }
    for (const TemplateId id : mine) ++ends[id];
  }
  return std::any_of(ends.begin(), ends.end(),
                     [&](const auto& end) { return end.second == facts.ranks.size(); });
}

// The rank whose process a kernel names as blocked.
std::optional<std::int32_t> blocked_rank(const Facts& facts) {
  for (const EventFact& event : facts.kernel) {
    if (event.kind != "hang") continue;
    const std::set<std::int32_t> ranks = ranks_meant(facts, event);
    if (ranks.size() == 1) return *ranks.begin();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Candidate> find_hang(const Analysis& analysis) {
  const auto quiet = quiet_of(analysis);
  if (quiet && quiet->watched == 0 && said_the_end(analysis.facts)) return std::nullopt;
  if (!quiet || !too_quiet(analysis, *quiet, Apart::both)) return std::nullopt;
  const Odd odd = odd_ranks(analysis);
  Candidate out;
  out.kind = "hang";
  out.timed = false;
  std::vector<std::int32_t> both;
  std::set_intersection(odd.behind.begin(), odd.behind.end(), odd.extra.begin(), odd.extra.end(),
                        std::back_inserter(both));
  if (const auto blocked = blocked_rank(analysis.facts)) {
    out.ranks = {*blocked};
    out.claim = "is blocked, as the kernel of its host says";
    out.confidence = 0.9;
  } else if (!both.empty()) {
    out.ranks = both;
    out.claim = "has another last line than all others, and not theirs";
    out.confidence = 0.8;
  } else if (!too_quiet(analysis, *quiet, Apart::lacks)) {
    return std::nullopt;
  } else if (!odd.behind.empty()) {
    out.ranks = odd.behind;
    out.claim = "lacks the last lines of the others";
    out.confidence = 0.7;
  } else if (!too_quiet(analysis, *quiet, Apart::more)) {
    return std::nullopt;
  } else if (!odd.extra.empty()) {
    out.ranks = odd.extra;
    out.claim = "has a last line that no other has";
    out.confidence = 0.6;
  } else if (quiet->watched > 0) {
    out.claim = "all ranks are alive and silent since the same line";
    out.confidence = 0.4;
    return out;
  } else {
    return std::nullopt;
  }
  out.claim = name_ranks(as_set(out.ranks)) + " " + out.claim;
  const Outcome* outcome = analysis.of(out.ranks.front());
  out.at = outcome->rank;
  out.when = {outcome->rank->last_time, outcome->rank->last_time + outcome->rank->resolution};
  return out;
}

std::optional<Candidate> find_lost(const Analysis& analysis) {
  const auto common = common_iteration(analysis.facts);
  std::vector<const Outcome*> ended, going;
  for (const Outcome& outcome : analysis.outcomes) {
    const auto& process = outcome.rank->process;
    if (!process) return std::nullopt;
    if (process->exit_status && *process->exit_status == 0) return std::nullopt;
    (process->exit ? ended : going).push_back(&outcome);
  }
  Candidate out;
  const Outcome* first = nullptr;
  for (const Outcome* outcome : ended) {
    const auto last = outcome->rank->last_iteration();
    const bool behind = last && common && *last < *common;
    // While others live: it left them. When all have ended: it did not get as far as they did.
    if (!behind && (going.empty() || outcome->end == End::finished)) continue;
    out.ranks.push_back(outcome->rank->rank);
    if (first == nullptr || outcome->when.hi < first->when.hi) first = outcome;
  }
  if (out.ranks.empty() || 2 * out.ranks.size() >= analysis.outcomes.size()) return std::nullopt;
  // Ranks do not end at one moment, and their last lines may be on the way.
  const std::int64_t step = longest_step(analysis.facts).value_or(0);
  if (analysis.facts.as_of - first->when.hi <= kSteps * step + kDelivery) return std::nullopt;
  out.at = first->rank;
  out.when = first->when;
  out.kind = "killed";
  out.claim = name_ranks(as_set(out.ranks)) + " ended without a word before the others";
  out.confidence = 0.7;
  return out;
}

}  // namespace logarithm::aggregator::triage
