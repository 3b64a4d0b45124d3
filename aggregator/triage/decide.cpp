#include "aggregator/triage/decide.h"

#include <algorithm>
#include <cstdio>

#include "aggregator/triage/analysis.h"
#include "aggregator/triage/failures.h"
#include "aggregator/triage/hang.h"
#include "aggregator/triage/hardware.h"
#include "aggregator/triage/preemption.h"
#include "aggregator/triage/stragglers.h"
#include "aggregator/triage/values.h"
#include "common/model/failure_order.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kLinesShown = 3;  // of a row that stands for many
// Beside the worst straggler those count that are late by this part of it.
constexpr std::int64_t kWorthNaming = 4;

void add_root(Verdict& verdict, const Candidate& candidate) {
  Evidence evidence;
  evidence.claim = candidate.claim;
  evidence.klass = "root";
  evidence.confidence = candidate.confidence;
  if (candidate.ranks.size() == 1) evidence.rank = candidate.ranks.front();
  if (candidate.event != nullptr) {
    evidence.lines.push_back(candidate.event->line);
  } else if (candidate.line) {
    evidence.lines.push_back(*candidate.line);
  } else if (candidate.at != nullptr && !candidate.at->tail.empty()) {
    evidence.lines.push_back(candidate.at->tail.back().line);
  }
  verdict.evidence.push_back(std::move(evidence));
}

// All ranks that failed after another, as one row.
void add_followers(const Analysis& analysis, Verdict& verdict, const std::set<std::int32_t>& own) {
  for (const auto& [klass, ends] : {std::pair{"cascade", std::set{End::root, End::cascade}},
                                    std::pair{"teardown", std::set{End::terminated}}}) {
    Evidence row;
    row.klass = klass;
    row.confidence = 0.9;
    std::set<std::int32_t> ranks;
    std::vector<const Outcome*> found;
    for (const Outcome& outcome : analysis.outcomes) {
      if (!ends.contains(outcome.end) || own.contains(outcome.rank->rank)) continue;
      ranks.insert(outcome.rank->rank);
      found.push_back(&outcome);
    }
    if (found.empty()) continue;
    std::stable_sort(found.begin(), found.end(),
                     [](const Outcome* a, const Outcome* b) { return a->when.lo < b->when.lo; });
    for (const Outcome* outcome : found) {
      if (row.lines.size() < kLinesShown) row.lines.push_back(outcome->cause->line);
    }
    if (found.size() == 1) row.rank = found.front()->rank->rank;
    row.claim =
        name_ranks(ranks) + (std::string_view(klass) == "cascade" ? " failed as a consequence"
                             : ranks.size() == 1                  ? " was told to stop"
                                                                  : " were told to stop");
    verdict.evidence.push_back(std::move(row));
    if (std::string_view(klass) == "cascade") verdict.cascade = ranks;
  }
}

void add_order(Verdict& verdict) {
  if (!verdict.first || !verdict.first->margin_ms || verdict.cascade.empty()) return;
  const First& first = *verdict.first;
  Evidence order;
  order.klass = "advice";
  order.confidence = first.certain ? 0.99 : 0.5;
  order.claim = (first.certain ? "the order is " : "the failures ") +
                failure_order(first.certain, first.margin_ms, first.error_ms);
  verdict.evidence.push_back(std::move(order));
}

std::string place_of(const First& first) {
  std::string out = name_ranks(as_set(first.ranks));
  if (!first.host.empty()) out += " on " + first.host;
  if (first.iteration) out += " at iteration " + std::to_string(*first.iteration);
  return out;
}

void sum_up(Verdict& verdict, const Candidate& candidate) {
  std::string text;
  if (verdict.first && !verdict.first->ranks.empty()) {
    const bool several = verdict.first->ranks.size() > 1;
    const char* did = verdict.verdict == "hung"   ? (several ? " hang" : " hangs")
                      : verdict.verdict == "slow" ? " is slow"
                      : several                   ? " were the first to fail"
                                                  : " was the first to fail";
    text = place_of(*verdict.first) + did + " (" + verdict.kind + ")";
  } else {
    const char* did = verdict.verdict == "hung"        ? " hangs"
                      : verdict.verdict == "preempted" ? " was preempted"
                                                       : " failed";
    text = std::string("The job") + did + " (" + verdict.kind + ")";
  }
  text += ": " + candidate.claim;
  if (!verdict.cascade.empty()) {
    text += "; " + std::to_string(verdict.cascade.size()) +
            (verdict.cascade.size() == 1 ? " other rank followed" : " other ranks followed");
  }
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  verdict.summary = text + ".";
}

void fail_with(const Analysis& analysis, Verdict& verdict, const Candidate& candidate) {
  verdict.kind = candidate.kind;
  const bool hung = candidate.kind == "hang" || candidate.kind == "collective_timeout";
  verdict.verdict = candidate.kind == "hang"         ? "hung"
                    : candidate.kind == "preemption" ? "preempted"
                                                     : "failed";
  std::vector<const Outcome*> others;
  for (const Outcome& outcome : analysis.outcomes) {
    if (outcome.end != End::finished && outcome.end != End::going) others.push_back(&outcome);
  }
  const std::set<std::int32_t> own = as_set(candidate.ranks);
  if (!candidate.ranks.empty()) verdict.first = first_of(analysis, candidate, others);
  add_root(verdict, candidate);
  add_followers(analysis, verdict, own);
  add_order(verdict);
  for (const Outcome& outcome : analysis.outcomes) {
    const bool lives = outcome.rank->process && outcome.rank->process->alive;
    if (hung && own.contains(outcome.rank->rank) &&
        (outcome.end == End::wordless || outcome.end == End::going)) {
      verdict.silent.push_back({outcome.rank->rank, outcome.rank->last_time});
    } else if (outcome.end == End::wordless && lives) {
      verdict.silent.push_back({outcome.rank->rank, outcome.rank->last_time});
    }
  }
  sum_up(verdict, candidate);
}

bool be_slow(const Analysis& analysis, Verdict& verdict) {
  const std::vector<Late> late = find_stragglers(analysis);
  if (late.empty()) return false;
  verdict.verdict = "slow";
  const Late& worst = late.front();
  verdict.kind = worst.waits_for_data ? "data_stall" : "straggler";
  Candidate candidate;
  candidate.kind = verdict.kind;
  candidate.ranks = {worst.rank->rank};
  candidate.at = worst.rank;
  candidate.iteration = worst.since;
  candidate.timed = false;
  candidate.event = worst.event;
  candidate.line = worst.line;
  for (const TailLine& line : worst.rank->tail) {
    if (line.template_id == worst.template_id) candidate.line = line.line;
  }
  for (const IterationStart& start : worst.rank->iterations) {
    if (start.iteration == worst.since) candidate.when = {start.time, start.time};
  }
  char text[160];
  std::snprintf(text, sizeof text, "since iteration %lld it %s %.1f ms late, %.0f %% of a step",
                static_cast<long long>(worst.since),
                worst.waits_for_data ? "has its data" : "comes", as_ms(worst.by),
                100 * worst.share);
  candidate.claim = text;
  candidate.confidence = 0.9;
  verdict.first = first_of(analysis, candidate, {});
  verdict.first->certain = false;
  add_root(verdict, candidate);
  for (const Late& one : late) {
    if (kWorthNaming * one.by < worst.by) continue;
    verdict.stragglers.push_back({one.rank->rank, as_ms(one.by)});
  }
  sum_up(verdict, candidate);
  return true;
}

// " Not captured: stdout of rank 0 (pipe).", with a count when there are more; empty for none.
std::string what_is_not_seen(const Facts& facts) {
  std::string first;
  std::size_t outputs = 0;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [stream, why] : rank.not_captured) {
      if (++outputs == 1)
        first = stream + " of rank " + std::to_string(rank.rank) + " (" + why + ")";
    }
  }
  if (outputs == 0) return "";
  if (outputs > 1) first += " and " + std::to_string(outputs - 1) + " more outputs";
  return " Not captured: " + first + ".";
}

void be_healthy(const Analysis& analysis, Verdict& verdict) {
  const std::size_t ranks = analysis.facts.ranks.size();
  if (ranks == 0) {
    verdict.summary = "Nothing can be said: no line of any rank is stored for this attempt.";
    return;
  }
  const std::string blind = what_is_not_seen(analysis.facts);
  const bool silent = std::all_of(analysis.facts.ranks.begin(), analysis.facts.ranks.end(),
                                  [](const RankFacts& rank) { return rank.lines == 0; });
  if (silent) {
    verdict.summary = "Nothing can be said: no line of its " + std::to_string(ranks) +
                      (ranks == 1 ? " rank" : " ranks") + " is stored." + blind;
    return;
  }
  const auto iteration = common_iteration(analysis.facts);
  verdict.summary = "Nothing is wrong: " + std::to_string(ranks) +
                    (ranks == 1 ? " rank" : " ranks") + ", " +
                    (verdict.phase == "end" ? "ended in order" : "phase " + verdict.phase);
  if (iteration) verdict.summary += ", last iteration " + std::to_string(*iteration);
  verdict.summary += "." + blind;
}

}  // namespace

Verdict decide(const Facts& facts) {
  const Analysis analysis(facts);
  Verdict verdict;
  verdict.phase = phase_of(analysis);
  verdict.hardware = hardware_of(analysis);
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [stream, why] : rank.not_captured) {
      verdict.not_captured.push_back({rank.rank, stream, why});
    }
  }
  auto candidate = find_nan(analysis);
  if (!candidate) candidate = find_corruption(analysis);
  if (!candidate) {
    if (auto stopped = find_preemption(analysis)) {
      fail_with(analysis, verdict, *stopped);
      return verdict;
    }
    candidate = find_failure(analysis);
  }
  if (!candidate) candidate = find_lost(analysis);
  if (!candidate) candidate = find_unnamed(analysis);
  if (!candidate) {
    candidate = find_hang(analysis);
    if (auto broken = find_broken_hardware(analysis, candidate.has_value())) candidate = broken;
  }
  if (candidate) {
    fail_with(analysis, verdict, *candidate);
  } else if (!be_slow(analysis, verdict)) {
    be_healthy(analysis, verdict);
  }
  return verdict;
}

}  // namespace logarithm::aggregator::triage
