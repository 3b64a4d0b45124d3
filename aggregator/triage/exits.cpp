#include "aggregator/triage/exits.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

namespace logarithm::aggregator::triage {
namespace {

struct Ended {
  bool by_signal = false;
  int number = 0;  // the signal, or the exit code
};

// A shell says 128 + n of a child that a signal ended.
Ended read_status(std::int32_t status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  const int code = WEXITSTATUS(status);
  if (code > 128 && code <= 128 + SIGRTMAX) return {true, code - 128};
  return {false, code};
}

// By somebody who wanted it so.
bool was_stopped(const Ended& ended) {
  return ended.by_signal &&
         (ended.number == SIGTERM || ended.number == SIGINT || ended.number == SIGHUP);
}

std::string kind_of(const Ended& ended) { return ended.by_signal ? "killed" : "exit"; }

std::string words_of(const Ended& ended) {
  return (ended.by_signal ? "by signal " : "with exit status ") + std::to_string(ended.number);
}

}  // namespace

bool ended_badly(const RankFacts& rank) {
  const auto& process = rank.process;
  return process && process->exit && process->exit_status.value_or(0) != 0;
}

bool outlived(const RankFacts& rank, const std::vector<const Outcome*>& cascade) {
  if (!rank.process) return false;
  if (!rank.process->exit) return rank.process->alive;
  return std::all_of(cascade.begin(), cascade.end(), [&](const Outcome* outcome) {
    const auto& other = outcome->rank->process;
    return other && other->exit && *other->exit < *rank.process->exit - rank.process->exit_error;
  });
}

std::optional<Candidate> find_exit(const Analysis& analysis) {
  const std::vector<const Outcome*> cascade = analysis.with(End::cascade);
  std::vector<const Outcome*> bad;
  for (const Outcome* outcome : analysis.with(End::wordless)) {
    if (!ended_badly(*outcome->rank)) continue;
    if (was_stopped(read_status(*outcome->rank->process->exit_status))) continue;
    if (!cascade.empty() && outlived(*outcome->rank, cascade)) continue;
    bad.push_back(outcome);
  }
  const auto surely_before = [&](const Outcome& a, const Outcome& b) {
    const auto distance = analysis.clocks.distance(*a.rank, a.when, *b.rank, b.when);
    return distance && distance->surely_later();
  };
  std::vector<const Outcome*> first;
  for (const Outcome* outcome : bad) {
    const bool preceded = std::any_of(bad.begin(), bad.end(), [&](const Outcome* other) {
      return other != outcome && surely_before(*other, *outcome);
    });
    if (!preceded) first.push_back(outcome);
  }
  if (first.empty()) return std::nullopt;
  const Outcome& one = *first.front();
  const Ended ended = read_status(*one.rank->process->exit_status);
  Candidate out;
  for (const Outcome* outcome : first) out.ranks.push_back(outcome->rank->rank);
  out.at = one.rank;
  out.when = one.when;
  out.kind = kind_of(ended);
  out.timed = first.size() == 1;
  out.claim = name_ranks(as_set(out.ranks)) + " ended " + words_of(ended) + ", without a word";
  out.confidence = 0.95;
  return out;
}

std::optional<Candidate> find_unranked_exit(const Analysis& analysis) {
  const EndedProcess* first = nullptr;
  for (const EndedProcess& process : analysis.facts.unranked) {
    const Ended ended = read_status(process.exit_status);
    if (ended.number == 0 || was_stopped(ended)) continue;
    if (first == nullptr || process.exit < first->exit) first = &process;
  }
  if (first == nullptr) return std::nullopt;
  const Ended ended = read_status(first->exit_status);
  Candidate out;
  out.kind = kind_of(ended);
  out.when = {first->exit, first->exit};
  out.timed = false;
  out.claim = "its process " + std::to_string(first->pid) +
              (first->host.empty() ? "" : " on " + first->host) + " ended " + words_of(ended);
  out.confidence = 0.8;
  return out;
}

}  // namespace logarithm::aggregator::triage
