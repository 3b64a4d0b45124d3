#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/triage/facts.h"

namespace logarithm::test {

namespace triage = aggregator::triage;

inline constexpr UnixNanos kMs = 1'000'000, kSecond = 1'000'000'000;

// Facts of a training job made by hand: every rank says iterations 0, 5, 10, … a step apart, two
// lines each. One host, unless said otherwise.
class MadeFacts {
 public:
  static constexpr TemplateId kBefore = 1, kAfter = 2, kDone = 3, kExtra = 4;

  explicit MadeFacts(std::int32_t ranks, std::int64_t iterations = 70, std::string host = "n1") {
    facts_.job = "made";
    facts_.attempt = 0;
    for (std::int32_t i = 0; i < ranks; ++i) {
      triage::RankFacts rank;
      rank.rank = i;
      rank.host = host;
      rank.resolution = kMs;
      facts_.ranks.push_back(rank);
      for (std::int64_t at = 0; at < iterations; at += 5) iterate(i, at, time_of(at));
    }
    facts_.as_of = time_of(iterations) + kSecond;
  }

  static UnixNanos time_of(std::int64_t iteration) {
    return 1'000'000 * kSecond + iteration * 20 * kMs;
  }

  // The rank says an iteration at `time` and once more, 10 ms later.
  MadeFacts& iterate(std::int32_t rank, std::int64_t iteration, UnixNanos time) {
    triage::RankFacts& facts = of(rank);
    facts.iterations.push_back({time, iteration});
    say(rank, kBefore, time, iteration);
    say(rank, kAfter, time + 10 * kMs, iteration);
    return *this;
  }

  triage::TailLine& say(std::int32_t rank, TemplateId id, UnixNanos time,
                        std::optional<std::int64_t> iteration = std::nullopt) {
    triage::RankFacts& facts = of(rank);
    triage::TailLine line;
    line.line = {StreamId{StreamBase{1, static_cast<std::uint64_t>(rank)}, 0}, next_ += 100};
    line.time = line.observed = time;
    line.iteration = iteration;
    line.template_id = id;
    line.severity = Severity::info;
    if (facts.lines++ == 0) facts.first_time = time;
    facts.last_time = std::max(facts.last_time, time);
    facts.tail.push_back(line);
    if (facts.tail.size() > 16) facts.tail.erase(facts.tail.begin());
    return facts.tail.back();
  }

  // A marked line of the rank; without one, of a launcher.
  triage::EventFact& event(std::optional<std::int32_t> rank, std::string kind, std::string klass,
                           UnixNanos time) {
    triage::EventFact event;
    event.rank = rank;
    event.host = "n1";
    event.line = {StreamId{StreamBase{2, 0}, 0}, next_ += 100};
    if (rank) {
      triage::TailLine& line = say(*rank, 1000 + next_, time);
      line.severity = Severity::error;
      line.marked = true;
      event.line = line.line;
      event.iteration = of(*rank).last_iteration();
    }
    event.when = {time, time + kMs};
    event.kind = std::move(kind);
    event.klass = std::move(klass);
    facts_.events.push_back(event);
    return facts_.events.back();
  }

  triage::EventFact& kernel(std::string kind, UnixNanos time) {
    triage::EventFact event;
    event.host = "n1";
    event.line = {StreamId{StreamBase{3, 0}, 0}, next_ += 100};
    event.when = {time, time + 1};
    event.kind = std::move(kind);
    event.klass = "root";
    facts_.kernel.push_back(event);
    return facts_.kernel.back();
  }

  triage::ProcessFact& process(std::int32_t rank) {
    auto& process = of(rank).process;
    if (!process) {
      process.emplace();
      process->pid = 100 + rank;
      process->start = time_of(0) - kSecond;
      process->alive = true;
    }
    return *process;
  }
  MadeFacts& exit(std::int32_t rank, UnixNanos time) {
    process(rank).exit = time;
    process(rank).alive = false;
    return *this;
  }

  triage::RankFacts& of(std::int32_t rank) { return facts_.ranks[static_cast<std::size_t>(rank)]; }
  triage::Facts& facts() { return facts_; }

 private:
  triage::Facts facts_;
  std::uint64_t next_ = 0;
};

using Ranks = std::vector<std::int32_t>;

inline const UnixNanos kBroke = MadeFacts::time_of(70);

// All ranks say the same last words.
inline void end_all(MadeFacts& made) {
  for (std::size_t i = 0; i < made.facts().ranks.size(); ++i) {
    made.say(static_cast<std::int32_t>(i), MadeFacts::kDone, kBroke);
  }
}

// Files of a job that is over: nobody knows hosts.
inline MadeFacts imported(std::int32_t ranks, std::int64_t iterations = 70) {
  return MadeFacts(ranks, iterations, "");
}

}  // namespace logarithm::test
