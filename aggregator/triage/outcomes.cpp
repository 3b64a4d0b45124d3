#include "aggregator/triage/outcomes.h"

#include <algorithm>
#include <map>
#include <set>

#include "aggregator/triage/exits.h"
#include "aggregator/triage/kinds.h"

namespace logarithm::aggregator::triage {
namespace {

// Lines of one traceback lie this close to each other, bytes.
constexpr std::uint64_t kRecord = 16 * 1024;
// Iterations that show that the job went on.
constexpr std::size_t kFurther = 2;
// So many lines of no trouble, where a rank says no iterations.
constexpr std::size_t kTalk = 8;
// Clocks of which nothing is known are hardly further apart than this, nanoseconds.
constexpr std::int64_t kClocksApart = 15'000'000'000;

bool is_normal(const TailLine& line) {
  return line.severity < Severity::error && !line.marked &&
         !line.has(line_flag::continuation | line_flag::progress);
}

// The same for last words, which may stand behind a header's line as if they belonged to it.
bool may_end(const TailLine& line) {
  const bool own = !line.has(line_flag::derived_fields);
  return (!own || line.severity < Severity::error) && !line.marked &&
         !line.has(line_flag::progress);
}

// The rank said the same of this iteration before: a heartbeat, and no end.
bool is_repeated(const RankFacts& rank, const TailLine& line) {
  return line.says_iteration() &&
         std::count_if(rank.tail.begin(), rank.tail.end(), [&](const TailLine& other) {
           return other.template_id == line.template_id && other.iteration == line.iteration;
         }) > 1;
}

// Templates that at least half of the ranks (and two) have as the last line of a stream. What ranks
// say after something broke is no end in order, however many say it.
std::set<TemplateId> common_ends(const Facts& facts, const std::set<std::int32_t>& disturbed) {
  std::map<TemplateId, std::size_t> ranks;
  for (const RankFacts& rank : facts.ranks) {
    if (disturbed.contains(rank.rank)) continue;
    std::map<StreamId, const TailLine*> last;
    for (const TailLine& line : rank.tail) {
      const TailLine*& newest = last[line.line.stream];
      if (newest == nullptr || newest->line.offset < line.line.offset) newest = &line;
    }
    std::set<TemplateId> mine;
    for (const auto& [stream, line] : last) {
      if (may_end(*line) && !is_repeated(rank, *line)) mine.insert(line->template_id);
    }
    for (const TemplateId id : mine) ++ranks[id];
  }
  std::set<TemplateId> out;
  for (const auto& [id, count] : ranks) {
    if (count >= 2 && 2 * count >= facts.ranks.size()) out.insert(id);
  }
  return out;
}

bool comes_after(const TailLine& line, const EventFact& event) {
  if (line.line.stream == event.line.stream) return line.line.offset > event.line.offset;
  return line.time > event.when.hi;
}

// After the event came as much as is only said by who goes on.
bool kept_talking(const RankFacts& rank, const EventFact& event) {
  if (event.routine >= kTalk) return true;
  const auto further = std::count_if(rank.tail.begin(), rank.tail.end(), [&](const TailLine& line) {
    return line.line.stream == event.line.stream && line.line.offset > event.line.offset &&
           line.severity < Severity::warning && is_normal(line);
  });
  return further >= static_cast<std::ptrdiff_t>(kTalk);
}

// The rank went on after the event: it said a further iteration. What breaks beside the program (a
// link, a GPU) lets it end the one that it is in.
bool went_on(const Facts& facts, const Clocks& clocks, const RankFacts& rank,
             const EventFact& event) {
  const std::size_t enough = event.kind == "exception" ? 1 : kFurther;
  std::set<std::int64_t> further;
  for (auto start = rank.iterations.rbegin(); start != rank.iterations.rend(); ++start) {
    if (event.iteration && start->iteration <= *event.iteration) break;
    if (start->time > event.when.hi) further.insert(start->iteration);
    if (further.size() >= enough) return true;
  }
  for (const TailLine& line : rank.tail) {
    if (!line.says_iteration()) continue;
    if (event.iteration && *line.iteration <= *event.iteration) continue;
    if (is_normal(line) && comes_after(line, event)) further.insert(*line.iteration);
  }
  if (further.size() >= enough) return true;
  // What says iterations of its own is known by these.
  return rank.iterations.empty() &&
         (job_went_on(facts, clocks, event) || kept_talking(rank, event));
}

// It ended as its peers did.
bool ended_well(const RankFacts& rank, const EventFact& event, const std::set<TemplateId>& ends) {
  return std::any_of(rank.tail.begin(), rank.tail.end(), [&](const TailLine& line) {
    return may_end(line) && comes_after(line, event) && ends.contains(line.template_id);
  });
}

bool is_interrupt(const EventFact& event) {
  const std::string name = event.word("exc_type");
  return name == "KeyboardInterrupt" || name == "SystemExit";
}

bool same_record(const EventFact& a, const EventFact& b) {
  if (a.line.stream != b.line.stream || a.when.lo != b.when.lo) return false;
  const auto [low, high] = std::minmax(a.line.offset, b.line.offset);
  return high - low <= kRecord;
}

bool before(const EventFact& a, const EventFact& b) {
  if (a.line.stream == b.line.stream) return a.line.offset < b.line.offset;
  return a.when.hi < b.when.lo;
}

void judge(Outcome& outcome, const std::vector<const EventFact*>& events) {
  const auto first_of = [&](std::string_view klass) -> const EventFact* {
    for (const EventFact* event : events) {
      if (event->klass == klass && !is_interrupt(*event)) return event;
    }
    return nullptr;
  };
  const EventFact* root = first_of("root");
  const EventFact* cascade = first_of("cascade");
  if (root != nullptr) {
    // One line often has several marks, and one traceback several lines: the one that says most.
    for (const EventFact* event : events) {
      const bool says_more =
          event->klass == "root" && weight_of(event->kind) > weight_of(root->kind);
      if (says_more && same_record(*event, *root)) root = event;
    }
    if (is_symptom(*root)) {
      if (cascade == nullptr) cascade = root;
      root = nullptr;
    }
  }
  const EventFact* teardown = first_of("teardown");
  // "NCCL error … a remote process exited": one record, of which a line names the peer.
  if (root != nullptr && cascade != nullptr &&
      (same_record(*root, *cascade) || before(*cascade, *root))) {
    root = nullptr;
  }
  if (root == nullptr && cascade == nullptr && teardown == nullptr && !events.empty()) {
    teardown = events.front();  // interrupted
  }
  // A rank that was told to stop and then complains did not begin it.
  if (teardown != nullptr && root != nullptr && before(*teardown, *root)) root = nullptr;
  outcome.cause = root != nullptr ? root : cascade != nullptr ? cascade : teardown;
  if (outcome.cause == nullptr) return;
  outcome.end = root != nullptr ? End::root : cascade != nullptr ? End::cascade : End::terminated;
  outcome.when = outcome.cause->when;
}

}  // namespace

const TailLine* last_normal(const RankFacts& rank) {
  // A line without a stamp is as late as it was read: of two outputs the one with stamps decides.
  const TailLine* unstamped = nullptr;
  for (auto line = rank.tail.rbegin(); line != rank.tail.rend(); ++line) {
    if (!is_normal(*line)) continue;
    if (!line->has(line_flag::derived_time)) return &*line;
    if (unstamped == nullptr) unstamped = &*line;
  }
  return unstamped;
}

namespace {

// Ranks that share a file: what is behind the event there was written after it, where nobody has
// another trouble. One that failed would have flushed what it had printed long before.
bool file_went_on(const Facts& facts, const EventFact& event) {
  for (const EventFact& other : facts.events) {
    if (other.rank != event.rank && other.klass != "advice") return false;
  }
  std::map<std::int32_t, std::set<std::int64_t>> further;  // by rank
  for (const RankFacts& rank : facts.ranks) {
    for (const TailLine& line : rank.tail) {
      if (line.line.stream != event.line.stream || !line.says_iteration()) continue;
      if (line.line.offset < event.line.offset || !is_normal(line)) continue;
      if (event.iteration && *line.iteration <= *event.iteration) continue;
      const bool stamped = !line.has(line_flag::derived_time);
      if (!stamped || line.time > event.when.lo) further[rank.rank].insert(*line.iteration);
    }
  }
  return std::any_of(further.begin(), further.end(),
                     [](const auto& one) { return one.second.size() >= kFurther; });
}

}  // namespace

bool job_went_on(const Facts& facts, const Clocks& clocks, const EventFact& event) {
  const RankFacts* whose = event.rank ? facts.find(*event.rank) : nullptr;
  if (file_went_on(facts, event)) return true;
  for (const RankFacts& rank : facts.ranks) {
    std::size_t further = 0;
    for (auto start = rank.iterations.rbegin(); start != rank.iterations.rend(); ++start) {
      const Span then{start->time, start->time + rank.resolution};
      std::optional<Distance> after;
      if (whose != nullptr) after = clocks.distance(*whose, event.when, rank, then);
      const bool later = after ? after->surely_later() : then.lo - event.when.hi > kClocksApart;
      if (!later) break;
      if (++further >= kFurther) return true;
    }
  }
  return false;
}

std::vector<Outcome> outcomes_of(const Facts& facts, const Clocks& clocks) {
  std::map<std::int32_t, std::vector<const EventFact*>> events;  // after which a rank said no more
  std::set<std::int32_t> disturbed;
  for (const EventFact& event : facts.events) {
    const RankFacts* rank = event.rank ? facts.find(*event.rank) : nullptr;
    if (rank == nullptr || event.klass == "advice") continue;
    if (went_on(facts, clocks, *rank, event)) continue;
    events[rank->rank].push_back(&event);
    disturbed.insert(rank->rank);
  }
  const std::set<TemplateId> ends = common_ends(facts, disturbed);
  std::vector<Outcome> out;
  bool trouble = false;
  for (const RankFacts& rank : facts.ranks) {
    Outcome outcome;
    outcome.rank = &rank;
    outcome.when = {rank.last_time, rank.last_time + rank.resolution};
    std::vector<const EventFact*> counting;
    for (const EventFact* event : events[rank.rank]) {
      if (!ended_well(rank, *event, ends)) counting.push_back(event);
    }
    judge(outcome, counting);
    trouble = trouble || outcome.end != End::going || ended_badly(rank);
    out.push_back(outcome);
  }
  for (Outcome& outcome : out) {
    if (outcome.end != End::going) continue;
    const TailLine* last = last_normal(*outcome.rank);
    const bool as_peers = last != nullptr && ends.contains(last->template_id);
    const auto& process = outcome.rank->process;
    const bool ended = process && process->exit.has_value();
    if (ended) outcome.when = {*process->exit - process->exit_error, *process->exit};
    if (process && process->exit_status && *process->exit_status == 0) {
      outcome.end = End::finished;
    } else if (as_peers && !trouble) {
      outcome.end = process && process->alive ? End::going : End::finished;
    } else if (trouble || ended) {
      outcome.end = as_peers && ended && !trouble ? End::finished : End::wordless;
    }
  }
  return out;
}

}  // namespace logarithm::aggregator::triage
