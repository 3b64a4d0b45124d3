// Who comes late to the barriers.
#include "aggregator/triage/stragglers.h"

#include <doctest/doctest.h>

#include "aggregator/triage/decide.h"
#include "tests/unit/aggregator/triage/made_facts.h"

namespace logarithm::aggregator::triage {
namespace {

using test::end_all;
using test::kBroke;
using test::kMs;
using test::kSecond;
using test::MadeFacts;
using test::Ranks;

TEST_CASE("Triage: who comes late to every iteration is a straggler") {
  MadeFacts made(6);
  for (std::size_t i = 7; i < made.of(2).iterations.size(); ++i) {
    made.of(2).iterations[i].time += 15 * kMs;
  }
  end_all(made);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "slow");
  CHECK(verdict.kind == "straggler");
  CHECK(verdict.first->ranks == Ranks{2});
  REQUIRE(verdict.stragglers.size() == 1);
  CHECK(verdict.stragglers[0].late_ms == doctest::Approx(15));
}

TEST_CASE("Triage: a clock that is ahead is no straggler") {
  MadeFacts made(4);
  made.of(2).host = "n2";
  for (IterationStart& start : made.of(2).iterations) start.time += 30 * kMs;
  end_all(made);

  CHECK(decide(made.facts()).verdict == "healthy");
}

// Rank 5 prints the times of all, of which rank `late` takes twice as long from iteration 30 on.
void tell_times(MadeFacts& made, const std::string& timer, std::int32_t late) {
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    for (std::int64_t at = 0; at < 70; at += 5) {
      const double slow = rank == late && at >= 30 ? 2 : 1;
      const LineRef line{StreamId{StreamBase{1, 5}, 0}, static_cast<std::uint64_t>(at)};
      made.facts().told[timer][rank].push_back({at, slow * 15 * kMs + rank * 1e4, line});
    }
  }
}

TEST_CASE("Triage: a straggler by the times that one rank prints of all") {
  MadeFacts made(6);
  tell_times(made, "  forward-backward:", 3);
  end_all(made);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "straggler");
  CHECK(verdict.first->ranks == Ranks{3});
  CHECK(verdict.first->iteration == 30);
  CHECK(verdict.evidence.at(0).lines.at(0).stream == StreamId{StreamBase{1, 5}, 0});
}

TEST_CASE("Triage: who waits long for others is no straggler") {
  MadeFacts made(6);
  tell_times(made, "  backward-recv:", 3);
  end_all(made);

  CHECK(decide(made.facts()).verdict == "healthy");
}

// Six ranks with clocks of their own; from iteration `since` of 40 on rank 2 is `late` at each
// barrier, for which all wait.
MadeFacts waits(std::int64_t since, UnixNanos late, std::string host = "") {
  MadeFacts made(6, 0, std::move(host));
  UnixNanos begin = kBroke;
  for (std::int64_t at = 0; at < 40; ++at) {
    for (std::int32_t rank = 0; rank < 6; ++rank) {
      const bool slow = rank == 2 && at >= since;
      made.of(rank).iterations.push_back({begin + (slow ? late : 0) + rank * kMs, at});
      made.of(rank).gap = 1;
    }
    begin += kSecond + (at >= since ? late : 0);
  }
  for (std::int32_t rank = 0; rank < 6; ++rank) made.say(rank, MadeFacts::kDone, begin);
  return made;
}

TEST_CASE("Stragglers: who is late most of the time is not taken for a clock that is ahead") {
  for (const std::int64_t since : {8, 30}) {
    CAPTURE(since);
    MadeFacts made = waits(since, 600 * kMs);

    const Verdict verdict = decide(made.facts());

    CHECK(verdict.kind == "straggler");
    REQUIRE(verdict.first);
    CHECK(verdict.first->ranks == Ranks{2});
    CHECK(verdict.first->iteration == since);
  }
}

TEST_CASE("Stragglers: what stamps of whole seconds cannot tell is not late") {
  MadeFacts made = waits(8, 600 * kMs);
  for (RankFacts& rank : made.facts().ranks) {
    for (IterationStart& start : rank.iterations) start.time -= start.time % kSecond;
  }

  CHECK(decide(made.facts()).kind == "healthy");
}

TEST_CASE("Stragglers: on one clock who was early for a while is early, and never late") {
  MadeFacts made(6, 0);
  for (std::int64_t at = 0; at < 40; ++at) {
    for (std::int32_t rank = 0; rank < 6; ++rank) {
      const bool early = rank == 2 && at < 8;
      made.of(rank).iterations.push_back({kBroke + at * kSecond - (early ? 600 * kMs : 0), at});
    }
  }
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    made.say(rank, MadeFacts::kDone, kBroke + 40 * kSecond);
  }

  CHECK(decide(made.facts()).verdict == "healthy");
}

TEST_CASE("Stragglers: three iterations show one that is late by a whole step, and less does not") {
  CHECK(decide(waits(37, 1500 * kMs).facts()).kind == "straggler");
  CHECK(decide(waits(37, 700 * kMs).facts()).kind == "healthy");
  CHECK(decide(waits(38, 1500 * kMs).facts()).kind == "healthy");
}

}  // namespace
}  // namespace logarithm::aggregator::triage
