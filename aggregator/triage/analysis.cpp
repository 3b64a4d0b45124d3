#include "aggregator/triage/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kMany = 8;  // iterations, of which one step may be out of the way

// Of those between two of which the times are known there may be more than one.
std::int64_t step_between(const RankFacts& rank, const IterationStart& a, const IterationStart& b) {
  const std::int64_t apart = b.iteration - a.iteration;
  if (rank.gap <= 0 || apart <= rank.gap) return b.time - a.time;
  return (b.time - a.time) / apart * rank.gap;
}

}  // namespace

Analysis::Analysis(const Facts& given)
    : facts(given),
      clocks(given),
      outcomes(outcomes_of(given, clocks)),
      reports(reports_of(given)) {}

std::vector<const Outcome*> Analysis::with(End end) const {
  std::vector<const Outcome*> out;
  for (const Outcome& outcome : outcomes) {
    if (outcome.end == end) out.push_back(&outcome);
  }
  return out;
}

const Outcome* Analysis::of(std::int32_t rank) const {
  for (const Outcome& outcome : outcomes) {
    if (outcome.rank->rank == rank) return &outcome;
  }
  return nullptr;
}

std::optional<std::int64_t> common_iteration(const Facts& facts) {
  std::map<std::int64_t, std::size_t> ranks;
  for (const RankFacts& rank : facts.ranks) {
    if (const auto last = rank.last_iteration()) ++ranks[*last];
  }
  std::optional<std::int64_t> best;
  for (const auto& [iteration, count] : ranks) {
    if (!best || count >= ranks[*best]) best = iteration;
  }
  return best;
}

std::optional<std::int64_t> longest_step(const Facts& facts) {
  std::optional<std::int64_t> out;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.iterations.size() < 3) continue;
    std::int64_t longest = 0, second = 0;
    for (std::size_t i = 1; i < rank.iterations.size(); ++i) {
      const std::int64_t step = step_between(rank, rank.iterations[i - 1], rank.iterations[i]);
      if (step > longest) {
        second = longest;
        longest = step;
      } else {
        second = std::max(second, step);
      }
    }
    out = std::max(out.value_or(0), rank.iterations.size() > kMany ? second : longest);
  }
  return out;
}

std::string phase_of(const Analysis& analysis) {
  std::size_t iterating = 0, saving = 0, finished = 0;
  for (const Outcome& outcome : analysis.outcomes) {
    if (outcome.rank->last_iteration()) ++iterating;
    if (outcome.end == End::finished) ++finished;
    const TailLine* last = last_normal(*outcome.rank);
    if (last != nullptr && last->checkpoint) ++saving;
  }
  if (finished > 0 && finished == analysis.outcomes.size()) return "end";
  if (saving > 0) return "checkpoint";
  return iterating == 0 ? "start" : "training";
}

double as_ms(std::int64_t nanoseconds) {
  return std::round(static_cast<double>(nanoseconds) / 1e3) / 1e3;
}

std::set<std::int32_t> as_set(const std::vector<std::int32_t>& ranks) {
  return {ranks.begin(), ranks.end()};
}

std::string name_ranks(const std::set<std::int32_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  bool more = false;
  for (auto at = ranks.begin(); at != ranks.end();) {
    auto last = at;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    if (more) out += ",";
    more = true;
    out += std::to_string(*at);
    if (last != at) out += (*last == *at + 1 ? "," : "-") + std::to_string(*last);
    at = std::next(last);
  }
  return out;
}

First first_of(const Analysis& analysis, const Candidate& candidate,
               const std::vector<const Outcome*>& others) {
  First first;
  first.ranks = candidate.ranks;
  std::sort(first.ranks.begin(), first.ranks.end());
  first.iteration = candidate.iteration;
  if (candidate.at == nullptr) return first;
  first.host = candidate.at->host;
  first.time = candidate.when.lo;
  if (!first.iteration) {
    first.iteration = candidate.event != nullptr && candidate.event->iteration
                          ? candidate.event->iteration
                          : candidate.at->last_iteration();
  }
  const std::set<std::int32_t> own = as_set(candidate.ranks);
  std::optional<Distance> nearest;
  bool all_known = true;
  for (const Outcome* other : others) {
    if (own.contains(other->rank->rank)) continue;
    const auto distance =
        analysis.clocks.distance(*candidate.at, candidate.when, *other->rank, other->when);
    const auto& process = other->rank->process;
    const bool dated = other->end != End::wordless || (process && process->exit);
    if (!distance) {
      all_known = false;
    } else if (!dated) {
      // It failed at some time since it was last heard of: that can be surely later, but how much
      // later nobody knows.
      all_known = all_known && distance->surely_later();
    } else if (!nearest || distance->lo < nearest->lo) {
      nearest = distance;
    }
  }
  // One rank alone, after which nothing failed, is first beyond doubt.
  first.certain = candidate.timed && all_known && (!nearest || nearest->surely_later());
  if (nearest) {
    first.margin_ms = as_ms(nearest->lo + (nearest->hi - nearest->lo) / 2);
    first.error_ms = as_ms((nearest->hi - nearest->lo) / 2);
  }
  return first;
}

}  // namespace logarithm::aggregator::triage
