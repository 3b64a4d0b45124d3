#include "aggregator/triage/block_events.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace logarithm::aggregator::triage {
namespace {

constexpr std::string_view kIgnored = "exception_ignored";  // the kind of rule python-ignored
constexpr std::size_t kRoutine = 16;   // lines behind an event that are counted
constexpr std::size_t kMaxWord = 300;  // bytes kept of a text of an event

using Writer = std::optional<std::int32_t>;

// Lines without a wrapper are of all ranks.
bool one_clock(const Writer& a, const Writer& b) { return !a || !b || *a == *b; }

}  // namespace

void add_events(const StreamId& stream, const Line& line, BlockSurvey& out) {
  for (const EventMark& mark : line.events) {
    if (out.events.size() >= kBlockEvents) {
      ++out.events_left_out;
      continue;
    }
    BlockSurvey::Event event;
    event.wrapper_rank = line.wrapper_rank;
    event.head = line.head;
    event.stamped = !line.has(line_flag::derived_time);
    EventFact& fact = event.fact;
    fact.line = {stream, line.offset};
    // A line without a stamp came after the one before it, and was read when it was read.
    fact.when = {line.time, event.stamped ? line.time : std::max(line.time, line.observed)};
    fact.iteration = line.iteration;
    fact.rule = mark.rule;
    fact.kind = mark.kind;
    fact.klass = mark.klass;
    for (const MetaPair& pair : line.meta) {
      if (const auto* whole = std::get_if<std::int64_t>(&pair.value)) {
        fact.numbers[pair.key] = *whole;
      } else if (const auto* text = std::get_if<std::string>(&pair.value)) {
        fact.words[pair.key] = text->substr(0, kMaxWord);
      }
    }
    out.events.push_back(std::move(event));
  }
}

void note_ignored(const std::vector<Line>& lines, BlockSurvey& out) {
  for (const Line& line : lines) {
    for (const EventMark& mark : line.events) {
      if (mark.kind == kIgnored) out.ignored.insert(line.head);
    }
  }
}

void EventDates::add(const Line& line) {
  const auto& writer = line.wrapper_rank;
  if (!line.has(line_flag::derived_time)) {
    speaker_ = writer;
    if (writer) last_[*writer] = line.time;
    std::erase_if(waiting_, [&](std::size_t event) {
      if (!one_clock(survey_.events[event].wrapper_rank, writer)) return false;
      survey_.events[event].next = line.time;
      return true;
    });
    return;
  }
  if (line.events.empty()) return;
  const auto last = one_clock(speaker_, writer) ? last_.end() : last_.find(*writer);
  for (; seen_ < survey_.events.size(); ++seen_) {
    BlockSurvey::Event& event = survey_.events[seen_];
    if (event.stamped) continue;
    if (last != last_.end()) event.fact.when.lo = std::min(event.fact.when.lo, last->second);
    waiting_.push_back(seen_);
  }
}

void count_routine(const std::vector<Line>& lines, BlockSurvey& out) {
  if (out.events.empty()) return;
  std::set<std::uint64_t> reports;  // heads of records with an event
  for (const Line& line : lines) {
    if (!line.events.empty()) reports.insert(line.head);
  }
  struct Waiting {
    std::size_t event = 0, at = 0;
    std::optional<std::int32_t> writer;
  };
  std::map<std::pair<std::optional<std::int32_t>, TemplateId>, std::size_t> first;
  std::vector<Waiting> waiting;
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    for (; next < out.events.size() && out.events[next].fact.line.offset == line.offset; ++next) {
      if (out.events[next].fact.klass != "advice") waiting.push_back({next, i, line.wrapper_rank});
    }
    if (!line.events.empty() || line.has(line_flag::progress)) continue;
    const std::pair key{line.wrapper_rank, line.template_id};
    auto known = first.find(key);
    if (known == first.end()) {
      if (!reports.contains(line.head)) first.emplace(key, i);
      continue;
    }
    std::erase_if(waiting, [&](const Waiting& one) {
      if (one.writer != line.wrapper_rank || known->second >= one.at) return false;
      return ++out.events[one.event].fact.routine >= kRoutine;
    });
  }
}

}  // namespace logarithm::aggregator::triage
