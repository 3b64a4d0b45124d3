#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/store/storage.h"
#include "common/line/line.h"

// What is known of one attempt of a job, as triage looks at it: no SQL, no blocks, no clock. The
// same facts give the same verdict.
namespace logarithm::aggregator::triage {

struct LineRef {
  StreamId stream;
  std::uint64_t offset = 0;
  auto operator<=>(const LineRef&) const = default;
};

// [lo, hi] on the clock of the host that says it.
struct Span {
  UnixNanos lo = 0, hi = 0;
};

// A line as far as its facts go; its text is elsewhere.
struct TailLine {
  LineRef line;
  UnixNanos time = 0, observed = 0;
  std::optional<std::int64_t> iteration;
  TemplateId template_id = 0;
  Severity severity = Severity::unset;
  std::uint32_t flags = 0;
  bool marked = false;      // carries an event other than advice
  bool checkpoint = false;  // its template speaks of one

  bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
  // Itself; not one that it has from the lines around it.
  bool says_iteration() const { return iteration && !has(line_flag::derived_iteration); }
  // It was said no later, on its rank's clock.
  UnixNanos latest() const {
    return has(line_flag::derived_time) ? std::max(time, observed) : time;
  }
};

struct Sample {
  std::int64_t iteration = 0;
  double value = 0;
  LineRef line;
  UnixNanos time = 0;
  bool stamped = true;  // the line says its time
  TemplateId template_id = 0;
};

// A number that a rank says again and again.
struct Metric {
  std::vector<Sample> samples;      // ascending by iteration; the newest, and the first ones
  std::optional<Sample> first_nan;  // since when it has been NaN to its end
  bool finite_before = false;       // it was a number before that
};

// A time that one rank printed for another, as Megatron's "times across ranks" do; nanoseconds.
struct ToldTime {
  std::int64_t iteration = 0;
  double time = 0;
  LineRef line;
};
// Per timer and rank, ascending by iteration.
using ToldTimes = std::map<std::string, std::map<std::int32_t, std::vector<ToldTime>>>;

struct ProcessFact {
  std::int32_t pid = 0;
  UnixNanos start = 0;
  std::optional<UnixNanos> exit;
  UnixNanos exit_error = 0;                 // the exit was in (exit - exit_error, exit]
  std::optional<std::int32_t> exit_status;  // as waitpid gives it
  bool alive = false;
  std::vector<Gpu> gpus;
};

// A process of the job that is no rank, as `logarithm run` saw it end.
struct EndedProcess {
  std::string host;
  std::int32_t pid = 0;
  std::int32_t exit_status = 0;  // as waitpid gives it
  UnixNanos exit = 0;
};

struct RankFacts {
  std::int32_t rank = 0;
  std::optional<std::int32_t> local_rank;
  std::string host;  // empty: unknown, and then its clock is its own
  std::optional<ProcessFact> process;
  std::uint64_t lines = 0;
  UnixNanos first_time = 0, last_time = 0;  // order times of its lines
  bool stamped = true;                      // its lines say their time
  UnixNanos resolution = 1;                 // of these stamps, nanoseconds
  std::vector<IterationStart> iterations;   // the newest ones, ascending by iteration
  std::int64_t gap = 0;                     // between two that it says, typically; 0: unknown
  std::size_t said = 0;                     // iterations, with or without a time
  std::vector<TailLine> tail;               // its newest lines, ascending by (time, stream, offset)
  // When it said the newest iterations, apart by what it said: a line before the barrier tells who
  // is late, one after it does not.
  std::map<TemplateId, std::vector<IterationStart>> arrivals;
  std::map<std::string, Metric> metrics;
  std::map<std::string, std::string> not_captured;  // stream -> why

  // No later than then it said its last line.
  UnixNanos last_heard() const {
    UnixNanos out = last_time;
    for (const TailLine& line : tail) out = std::max(out, line.latest());
    return out;
  }

  std::optional<std::int64_t> last_iteration() const {
    if (iterations.empty()) return std::nullopt;
    return iterations.back().iteration;
  }
};

// A line that a rule marked.
struct EventFact {
  std::optional<std::int32_t> rank;  // whose; absent for launchers, kernels
  std::string host;
  LineRef line;
  Span when;  // with what is not known of it: a line without a stamp lies between two times
  std::optional<std::int64_t> iteration;
  std::string rule, kind, klass;
  std::size_t routine = 0;  // lines behind it that its writer had said before it, too; up to 16
  std::map<std::string, std::int64_t> numbers;  // metadata of the line
  std::map<std::string, std::string> words;

  std::optional<std::int64_t> number(const std::string& key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  std::string word(const std::string& key) const {
    const auto found = words.find(key);
    return found == words.end() ? std::string() : found->second;
  }
};

// A host's clock against the aggregator's, as its agent measured it.
struct ClockFact {
  std::int64_t offset = 0, error = 0;  // nanoseconds: host - aggregator, half width
};

struct Facts {
  std::string job;
  std::optional<std::int32_t> attempt, world_size;
  UnixNanos as_of = 0;            // until when nothing more was heard
  bool live = false;              // processes of the attempt are watched and some live
  std::vector<RankFacts> ranks;   // ascending by rank
  std::vector<EventFact> events;  // ascending by (when.lo, stream, offset); no kernel
  std::vector<EventFact> kernel;  // of the ranks' hosts, in the lifetimes of the ranks
  std::vector<EndedProcess> unranked;
  std::map<std::string, ClockFact> clocks;  // by host; may be empty
  std::map<TemplateId, std::string> texts;  // of the templates of `arrivals`
  ToldTimes told;
  // Of ranks, as launchers and the ranks themselves name them.
  std::map<std::int32_t, std::set<std::int64_t>> pids;

  const RankFacts* find(std::int32_t rank) const {
    for (const RankFacts& facts : ranks) {
      if (facts.rank == rank) return &facts;
    }
    return nullptr;
  }
};

}  // namespace logarithm::aggregator::triage
