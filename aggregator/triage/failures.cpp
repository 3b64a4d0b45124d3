#include "aggregator/triage/failures.h"

#include <algorithm>
#include <map>

#include "aggregator/triage/exits.h"
#include "aggregator/triage/hardware.h"
#include "aggregator/triage/kinds.h"

namespace logarithm::aggregator::triage {
namespace {

// What all of so many ranks but one say, most say.
constexpr std::size_t kOfAllRanks = 4;

// What makes two ranks' failures the same one.
std::string look_of(const Outcome& outcome) {
  const EventFact& event = *outcome.cause;
  return event.kind + "/" + event.word("exc_type") + "/" + event.rule;
}

// Its words, apart from the numbers in them: ranks name themselves, their ports and addresses.
std::string words_of(const Outcome& outcome) {
  std::string out;
  for (const char c : outcome.cause->word("exc_msg")) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || out.empty() || out.back() != '#') out.push_back(digit ? '#' : c);
  }
  return out;
}

// Before the first iteration, or in the same one.
bool same_phase(const Outcome& a, const Outcome& b) {
  const auto iteration = [](const Outcome& outcome) {
    return outcome.cause->iteration ? outcome.cause->iteration : outcome.rank->last_iteration();
  };
  return iteration(a) == iteration(b);
}

// -1: a surely first, 1: b surely first, 0: unknown.
int order(const Analysis& analysis, const Outcome& a, const Outcome& b) {
  if (const auto ab = analysis.clocks.distance(*a.rank, a.when, *b.rank, b.when)) {
    if (ab->surely_later()) return -1;
    if (ab->hi < 0) return 1;
  }
  return 0;
}

std::string describe(const EventFact& event) {
  const std::string name = event.word("exc_type"), message = event.word("exc_msg");
  if (!name.empty() && !message.empty()) return name + ": " + message;
  if (!name.empty()) return name;
  return event.kind;
}

std::string kind_of_cause(const Analysis& analysis, const Outcome& outcome) {
  const EventFact& event = *outcome.cause;
  static const std::set<std::string> kKnown = {"exception", "killed",     "host_oom", "gpu_oom",
                                               "xid",       "nvlink",     "nan",      "storage",
                                               "network",   "corruption", "start",    "gpu_error"};
  // Before the first iteration it is the start that failed, whatever was raised.
  const bool starting = !outcome.rank->last_iteration() && !common_iteration(analysis.facts);
  if (starting && (event.kind == "exception" || event.kind == "network")) return "start";
  if (event.kind == "start" && !starting) return "exception";
  return kKnown.contains(event.kind) ? event.kind : event.kind;
}

// "Rank 7 is running …, but Rank 0 is running …": whom all others name.
std::optional<Candidate> mismatch(const Analysis& analysis) {
  std::map<std::int32_t, std::size_t> named;
  std::size_t speakers = 0;
  for (const Outcome* root : analysis.with(End::root)) {
    if (root->cause->kind != "collective_mismatch") continue;
    ++speakers;
    for (const char* key : {"rank", "peer"}) {
      const auto rank = root->cause->number(key);
      if (rank && *rank != root->rank->rank && *rank >= 0 && *rank <= INT32_MAX) {
        ++named[static_cast<std::int32_t>(*rank)];
      }
    }
  }
  const auto most = std::max_element(
      named.begin(), named.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (speakers < 2 || most == named.end() || 2 * most->second <= speakers) return std::nullopt;
  const Outcome* outcome = analysis.of(most->first);
  if (outcome == nullptr) return std::nullopt;
  Candidate out;
  out.ranks = {most->first};
  out.kind = "collective_mismatch";
  out.at = outcome->rank;
  out.when = outcome->when;
  out.timed = false;
  out.event = outcome->cause;
  out.claim = std::to_string(most->second) + " ranks say that " + name_ranks({most->first}) +
              " runs another collective than they do";
  out.confidence = 0.9;
  return out;
}

// Most ranks say the same at the same place, and of no two it is known which came first: each of
// them has the fault (a module that is not installed), and none follows from another. Else `one`.
std::vector<const Outcome*> alike(const Analysis& analysis,
                                  const std::vector<const Outcome*>& roots, const Outcome& one) {
  std::vector<const Outcome*> out;
  for (const Outcome* root : roots) {
    const bool same = look_of(*root) == look_of(one) && words_of(*root) == words_of(one) &&
                      same_phase(*root, one);
    if (same) out.push_back(root);
  }
  const bool most = kOfAllRanks * out.size() >= (kOfAllRanks - 1) * analysis.outcomes.size();
  const bool ordered = std::any_of(out.begin(), out.end(), [&](const Outcome* a) {
    return std::any_of(out.begin(), out.end(),
                       [&](const Outcome* b) { return a != b && order(analysis, *a, *b) != 0; });
  });
  if (!most || ordered || out.size() < 2) return {&one};
  return out;
}

std::optional<Candidate> named_cause(const Analysis& analysis) {
  std::vector<const Outcome*> roots = analysis.with(End::root);
  if (roots.empty()) return std::nullopt;
  if (auto odd = mismatch(analysis)) return odd;
  std::map<std::string, std::size_t> looks, saying;
  for (const Outcome* root : roots) {
    ++looks[look_of(*root)];
    ++saying[look_of(*root) + words_of(*root)];
  }
  // Nobody surely before it; of these, what says more, what fewer ranks say, what came first.
  const Outcome* best = nullptr;
  for (const Outcome* root : roots) {
    const bool preceded = std::any_of(roots.begin(), roots.end(), [&](const Outcome* other) {
      return other != root && order(analysis, *other, *root) < 0;
    });
    if (preceded) continue;
    if (best == nullptr) {
      best = root;
      continue;
    }
    std::size_t mine = looks[look_of(*root)], theirs = looks[look_of(*best)];
    if (mine == theirs) {
      mine = saying[look_of(*root) + words_of(*root)];
      theirs = saying[look_of(*best) + words_of(*best)];
    }
    const int more = weight_of(root->cause->kind) - weight_of(best->cause->kind);
    if (more > 0 || (more == 0 && mine < theirs) ||
        (more == 0 && mine == theirs && root->when.lo < best->when.lo)) {
      best = root;
    }
  }
  if (best == nullptr) best = roots.front();  // a circle of bounds: cannot be
  const std::vector<const Outcome*> first = alike(analysis, roots, *best);
  Candidate out;
  out.at = best->rank;
  for (const Outcome* root : first) out.ranks.push_back(root->rank->rank);
  out.kind = kind_of_cause(analysis, *best);
  out.when = best->when;
  out.event = best->cause;
  out.claim = name_ranks(as_set(out.ranks)) +
              (first.size() == 1 ? " named a cause: " : " named the same cause: ") +
              describe(*best->cause);
  out.confidence = looks[look_of(*best)] == first.size() ? 0.95 : 0.7;
  out.timed = first.size() == 1;
  return out;
}

bool has_exit(const RankFacts& rank) { return rank.process && rank.process->exit.has_value(); }

// Ranks that a launcher saw end by a signal or with a status while others only followed.
std::optional<Candidate> reported(const Analysis& analysis) {
  for (const Report& report : analysis.reports) {
    // Ray sees that a worker is gone, and not always how.
    const bool unseen = !report.status && report.event->rule == "ray-worker-died";
    if (!unseen && report.status.value_or(0) == 0) continue;
    std::vector<std::int32_t> ranks;
    for (const std::int32_t rank : report.ranks) {
      const Outcome* outcome = analysis.of(rank);
      const bool spoke = outcome == nullptr || outcome->end == End::root ||
                         outcome->end == End::cascade || outcome->end == End::terminated;
      if (!spoke) ranks.push_back(rank);
    }
    const std::int64_t status = report.status.value_or(-9);
    const bool by_signal = status < 0 || status > 128;
    const std::int64_t signal = status < 0 ? -status : status - 128;
    if (ranks.empty() || !by_signal || signal == 15) continue;
    Candidate out;
    out.ranks = ranks;
    out.kind = "killed";
    const Outcome* outcome = analysis.of(ranks.front());
    out.at = outcome->rank;
    out.when = outcome->when;
    out.timed = has_exit(*outcome->rank);
    out.event = report.event;
    out.claim = name_ranks(as_set(ranks)) +
                (unseen ? " ended" : " ended by signal " + std::to_string(signal)) +
                " without a word, by the launcher's report";
    out.confidence = unseen ? 0.8 : 0.95;
    return out;
  }
  return std::nullopt;
}

bool timed_out(const Outcome& outcome) {
  return outcome.cause != nullptr && outcome.cause->kind == "collective_timeout";
}

// Of ranks that wait for each other, those whose collectives are behind: the fewest were enqueued.
std::vector<std::int32_t> behind_in_collectives(const Analysis& analysis) {
  std::map<std::int32_t, std::int64_t> enqueued;
  for (const EventFact& event : analysis.facts.events) {
    const auto count = event.number("enqueued");
    if (!event.rank || !count || event.kind != "collective_timeout") continue;
    const auto [at, fresh] = enqueued.emplace(*event.rank, *count);
    if (!fresh) at->second = std::max(at->second, *count);
  }
  std::vector<std::int32_t> out;
  if (enqueued.size() < 2) return out;
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  for (const auto& [rank, count] : enqueued) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  if (least == most) return out;
  for (const auto& [rank, count] : enqueued) {
    if (count == least) out.push_back(rank);
  }
  if (2 * out.size() >= enqueued.size()) out.clear();
  return out;
}

std::vector<std::int32_t> behind_in_iterations(const Analysis& analysis) {
  std::vector<std::int32_t> out;
  const auto common = common_iteration(analysis.facts);
  if (!common) return out;
  for (const Outcome& outcome : analysis.outcomes) {
    const auto last = outcome.rank->last_iteration();
    if (last && *last < *common) out.push_back(outcome.rank->rank);
  }
  if (2 * out.size() >= analysis.outcomes.size()) out.clear();
  return out;
}

// Everyone speaks of others: who does not speak is meant.
std::optional<Candidate> blamed(const Analysis& analysis) {
  const std::vector<const Outcome*> cascade = analysis.with(End::cascade);
  if (cascade.empty()) return std::nullopt;
  // What the first of them says decides: those that time out close their connections then.
  bool timeout = false;
  for (const Outcome* outcome : cascade) timeout = timeout || timed_out(*outcome);
  std::vector<const Outcome*> wordless = analysis.with(End::wordless);
  Candidate out;
  out.confidence = 0.85;
  if (!wordless.empty() && 2 * wordless.size() > analysis.outcomes.size()) {
    // Most are silent: then silence says little, and being behind says more.
    const std::vector<std::int32_t> behind = behind_in_iterations(analysis);
    std::erase_if(wordless, [&](const Outcome* outcome) {
      return std::find(behind.begin(), behind.end(), outcome->rank->rank) == behind.end();
    });
    out.confidence = 0.5;
  }
  if (!wordless.empty()) {
    // Those that ended before anybody complained come before those that were ended afterwards.
    const Outcome* best = nullptr;
    for (const Outcome* outcome : wordless) {
      out.ranks.push_back(outcome->rank->rank);
      if (best == nullptr || order(analysis, *outcome, *best) < 0) best = outcome;
    }
    out.at = best->rank;
    out.when = best->when;
    const bool lives = outlived(*best->rank, cascade);
    const std::string who = name_ranks(as_set(out.ranks));
    if (timeout || lives) {
      const bool one = out.ranks.size() == 1;
      out.kind = lives ? "hang" : "collective_timeout";
      out.claim = who + (one ? " was silent" : " were silent") + (lives ? " and alive" : "") +
                  " while the others waited for " + (one ? "it" : "them") + " in vain";
      out.when = {best->rank->last_time, best->rank->last_time + best->rank->resolution};
      out.timed = false;
    } else {
      out.kind = "killed";
      out.timed = has_exit(*best->rank);
      out.claim = who + " ended without a word, then the others lost the connection";
    }
    return out;
  }
  out.ranks = behind_in_collectives(analysis);
  out.claim = "the fewest collectives were enqueued by ";
  if (out.ranks.empty()) {
    out.ranks = behind_in_iterations(analysis);
    out.claim = "the others were further on than ";
    out.confidence = 0.6;
  }
  if (out.ranks.empty()) {
    const Outcome* best = cascade.front();
    for (const Outcome* outcome : cascade) {
      const int ordered = order(analysis, *outcome, *best);
      if (ordered < 0 || (ordered == 0 && outcome->when.lo < best->when.lo)) best = outcome;
    }
    out.ranks = {best->rank->rank};
    out.claim = "the first to complain was ";
    out.confidence = 0.3;
  }
  const Outcome* outcome = analysis.of(out.ranks.front());
  out.at = outcome->rank;
  out.when = outcome->when;
  out.event = outcome->cause;
  out.kind = timeout ? "collective_timeout" : "killed";
  out.claim += name_ranks(as_set(out.ranks));
  return out;
}

}  // namespace

std::optional<Candidate> find_failure(const Analysis& analysis) {
  std::optional<Candidate> seen = named_cause(analysis);
  // A broken link is what is seen of a host that is gone: then its ranks have no words at all.
  if (seen && seen->kind == "network") {
    const std::size_t wordless = analysis.with(End::wordless).size();
    auto gone = blamed(analysis);
    if (gone && wordless > 0 && 2 * wordless <= analysis.outcomes.size()) seen = std::move(gone);
  }
  if (!seen) seen = reported(analysis);
  if (!seen) seen = find_exit(analysis);
  if (!seen) seen = blamed(analysis);
  if (!seen) return std::nullopt;
  if (auto hardware = hardware_behind(analysis, *seen)) return hardware;
  return seen;
}

std::optional<Candidate> find_unnamed(const Analysis& analysis) {
  const auto of_event = [&](const EventFact& event) {
    Candidate out;
    out.event = &event;
    out.kind = event.kind;
    out.when = event.when;
    out.timed = false;
    out.claim = "no rank can be told from: " + describe(event);
    out.confidence = 0.5;
    return out;
  };
  const auto counts = [&](const EventFact& event) {
    return !event.rank && !job_went_on(analysis.facts, analysis.clocks, event);
  };
  for (const EventFact& event : analysis.facts.events) {
    if (event.klass == "root" && event.kind != "preemption" && counts(event)) {
      return of_event(event);
    }
  }
  for (const EventFact& event : analysis.facts.events) {
    const auto status = event.number("exitcode");
    if (event.kind != "child_failed" || !counts(event) || (status && *status == 0)) continue;
    Candidate out = of_event(event);
    out.kind = status && *status < 0 ? "killed" : "exception";
    return out;
  }
  return find_unranked_exit(analysis);
}

}  // namespace logarithm::aggregator::triage
