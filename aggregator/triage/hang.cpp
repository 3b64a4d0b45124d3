#include "aggregator/triage/hang.h"

#include <algorithm>
#include <map>

namespace logarithm::aggregator::triage {
namespace {

// So many of its longest steps must pass without the next iteration: few where a rank lacks what
// the others said; more where it only says more (it may evaluate, or save); in a checkpoint, which
// no step measures, as many.
constexpr std::int64_t kSteps = 3, kStepsOfMore = 30;
// Files end at some moment: what is quiet there is quiet for at least this many tenths of a step.
constexpr std::int64_t kTenthsOfFiles = 15;
// So many iterations measure a step by the time that all took; the longest of them are longer.
constexpr std::size_t kMeasured = 8;
constexpr std::int64_t kUneven = 3;
// What a line may take from the program to the answer, nanoseconds.
constexpr std::int64_t kDelivery = 2'000'000'000;
// Clocks of programs and file servers are hardly further apart than this, nanoseconds.
constexpr std::int64_t kOtherClock = 15'000'000'000;
// The same where one of them is a file server's, which is rarely without time synchronisation.
constexpr std::int64_t kFileServer = 6'000'000'000;

// No later than then the line was said, on its rank's clock.
UnixNanos latest_time(const TailLine& line) {
  return line.has(line_flag::derived_time) ? std::max(line.time, line.observed) : line.time;
}

struct Quiet {
  std::int64_t since = 0;   // no rank said a further iteration, nanoseconds
  std::int64_t step = 0;    // the longest time between two that a rank said
  std::size_t watched = 0;  // living processes
  bool starting = false;    // `step` is the time of all that was said yet
};

// nullopt when a rank has ended, or there is nothing to go by.
std::optional<Quiet> quiet_of(const Analysis& analysis) {
  const Facts& facts = analysis.facts;
  if (facts.ranks.size() < 2) return std::nullopt;
  Quiet out;
  UnixNanos first = INT64_MAX, last = INT64_MIN, progress = INT64_MIN;
  std::uint64_t lines = 0;
  std::size_t said = 0;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.process && rank.process->exit) return std::nullopt;
    if (rank.process && rank.process->alive) ++out.watched;
    const auto offset = analysis.clocks.between(rank, facts.ranks.front());
    const std::int64_t ahead = offset ? offset->estimate : 0;
    if (rank.process) first = std::min(first, rank.process->start);
    if (rank.lines == 0) continue;
    lines += rank.lines;
    first = std::min(first, rank.first_time - ahead);
    last = std::max(last, rank.last_time - ahead);
    if (!rank.iterations.empty()) {
      progress = std::max(progress, rank.iterations.back().time - ahead);
    }
    said = std::max(said, rank.said);
    for (const TailLine& line : rank.tail) {
      if (!line.iteration || line.has(line_flag::derived_iteration)) continue;
      progress = std::max(progress, latest_time(line) - ahead);
    }
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

bool too_quiet(const Analysis& analysis, const Quiet& quiet, bool lacks_lines) {
  if (quiet.watched == 0) return 10 * quiet.since > kTenthsOfFiles * quiet.step + 10 * kDelivery;
  const bool saving = phase_of(analysis) == "checkpoint";
  const bool short_wait = lacks_lines && !saving && !quiet.starting;
  const std::int64_t steps = short_wait ? kSteps : kStepsOfMore;
  return quiet.since > steps * quiet.step + kDelivery;
}

// What a rank said since its peers' last iteration began, or its very last lines.
bool said(const RankFacts& rank, TemplateId id) {
  return std::any_of(rank.tail.begin(), rank.tail.end(),
                     [&](const TailLine& line) { return line.template_id == id; });
}

// The last line (template, iteration) that most ranks share.
const TailLine* common_last(const Facts& facts) {
  std::map<std::pair<TemplateId, std::int64_t>, std::pair<std::size_t, const TailLine*>> ranks;
  for (const RankFacts& rank : facts.ranks) {
    const TailLine* last = last_normal(rank);
    if (last == nullptr) continue;
    auto& [count, line] = ranks[{last->template_id, last->iteration.value_or(-1)}];
    ++count;
    line = last;
  }
  const TailLine* best = nullptr;
  std::size_t most = 0;
  for (const auto& [key, entry] : ranks) {
    if (entry.first <= most) continue;
    most = entry.first;
    best = entry.second;
  }
  return 2 * most > facts.ranks.size() ? best : nullptr;
}

struct Odd {
  std::vector<std::int32_t> behind, extra;
};

// The last iteration of any rank was said long after the line: what ranks say at the start, each in
// its own words, stays the last line of many an output.
bool is_overtaken(const Analysis& analysis, const RankFacts& rank, const TailLine& line) {
  const UnixNanos until =
      latest_time(line) + (line.has(line_flag::derived_time) ? kFileServer : 0) + kDelivery;
  for (const RankFacts& other : analysis.facts.ranks) {
    if (other.iterations.empty()) continue;
    const auto offset = analysis.clocks.between(other, rank);
    const std::int64_t ahead = offset ? offset->hi : kOtherClock;
    if (other.iterations.back().time - ahead > until) return true;
  }
  return false;
}

// The last line of one of its outputs is one that no other rank says, and that it did not say in
// earlier iterations: not what it always says more than others.
bool says_more(const Analysis& analysis, const RankFacts& rank) {
  const Facts& facts = analysis.facts;
  std::map<StreamId, const TailLine*> last;
  for (const TailLine& line : rank.tail) {
    const TailLine*& newest = last[line.line.stream];
    if (newest == nullptr || newest->line.offset < line.line.offset) newest = &line;
  }
  const auto own = rank.last_iteration();
  for (const auto& [stream, newest] : last) {
    const bool regular = std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& line) {
      const bool said = line.iteration && !line.has(line_flag::derived_iteration);
      const bool earlier = line.iteration && own && *line.iteration < *own;
      return line.template_id == newest->template_id && (said || earlier);
    });
    // What it said in passing, iterations ago, is no last word.
    const bool stale = own && newest->iteration && *newest->iteration < *own;
    if (regular || stale || newest->marked || is_overtaken(analysis, rank, *newest)) continue;
    const bool alone = std::none_of(facts.ranks.begin(), facts.ranks.end(), [&](const auto& peer) {
      return &peer != &rank && said(peer, newest->template_id);
    });
    if (alone) return true;
  }
  return false;
}

// Of ranks that say more than others, those that said so last: the others did in passing.
void keep_latest(const Analysis& analysis, std::vector<std::int32_t>& ranks) {
  const RankFacts& reference = analysis.facts.ranks.front();
  std::map<std::int32_t, UnixNanos> last;
  UnixNanos latest = INT64_MIN;
  for (const std::int32_t number : ranks) {
    const RankFacts& rank = *analysis.facts.find(number);
    const auto offset = analysis.clocks.between(rank, reference);
    UnixNanos& time = last.emplace(number, INT64_MIN).first->second;
    for (const TailLine& line : rank.tail) time = std::max(time, latest_time(line));
    time -= offset ? offset->estimate : 0;
    latest = std::max(latest, time);
  }
  const std::int64_t step = longest_step(analysis.facts).value_or(0);
  std::erase_if(ranks, [&](std::int32_t number) {
    return last[number] + kSteps * step + kDelivery < latest;
  });
}

// The rank goes on after this line on another output, so long that no two clocks explain it: what
// NCCL says at the start stays the last line of many a stdout.
bool is_outlived(const RankFacts& rank, const TailLine& line) {
  const UnixNanos until = latest_time(line);
  return std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& other) {
    return other.line.stream != line.line.stream && !other.has(line_flag::derived_time) &&
           other.time > until + kOtherClock;
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
      const bool said = line->iteration && !line->has(line_flag::derived_iteration);
      if (times[line->template_id] != 1 || said || is_outlived(rank, *line)) continue;
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

Odd odd_ranks(const Analysis& analysis) {
  const Facts& facts = analysis.facts;
  Odd out;
  const auto iteration = common_iteration(facts);
  const TailLine* common = common_last(facts);
  for (const RankFacts& rank : facts.ranks) {
    const auto own = rank.last_iteration();
    const TailLine* last = last_normal(rank);
    if (iteration && own && *own < *iteration) {
      out.behind.push_back(rank.rank);
    } else if (common != nullptr && last != nullptr && last->template_id != common->template_id) {
      // Who never says that line has another part in the job, and is not behind for that.
      const bool has_it =
          std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& line) {
            return line.template_id == common->template_id && line.iteration == common->iteration;
          });
      if (!has_it && said(rank, common->template_id)) out.behind.push_back(rank.rank);
    }
    if (says_more(analysis, rank)) out.extra.push_back(rank.rank);
  }
  const auto keep_few = [&](std::vector<std::int32_t>& ranks) {
    if (2 * ranks.size() >= facts.ranks.size()) ranks.clear();
  };
  keep_few(out.behind);
  keep_few(out.extra);
  keep_latest(analysis, out.extra);
  return out;
}

}  // namespace

std::optional<Candidate> find_hang(const Analysis& analysis) {
  const auto quiet = quiet_of(analysis);
  if (quiet && quiet->watched == 0 && said_the_end(analysis.facts)) return std::nullopt;
  if (!quiet || !too_quiet(analysis, *quiet, true)) return std::nullopt;
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
  } else if (!odd.behind.empty()) {
    out.ranks = odd.behind;
    out.claim = "lacks the last lines of the others";
    out.confidence = 0.7;
  } else if (!too_quiet(analysis, *quiet, false)) {
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
