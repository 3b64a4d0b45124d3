// Jobs that stand still: when a quiet one hangs, and which rank holds the others up.
#include "aggregator/triage/hang.h"

#include <doctest/doctest.h>

#include "aggregator/triage/decide.h"
#include "tests/unit/aggregator/triage/made_facts.h"

namespace logarithm::aggregator::triage {
namespace {

using test::imported;
using test::kBroke;
using test::kMs;
using test::kSecond;
using test::MadeFacts;
using test::Ranks;

// Rank 2 waits for data with a line of its own, the others for it.
void hang(MadeFacts& made) {
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    made.process(rank);
    if (rank == 2) continue;
    made.of(rank).iterations.push_back({kBroke, 70});
    made.say(rank, MadeFacts::kBefore, kBroke, 70);
  }
  made.say(2, MadeFacts::kExtra, kBroke).severity = Severity::warning;
}

TEST_CASE("Triage: quiet longer than its own steps explain, a job hangs by the odd rank") {
  MadeFacts made(4);
  hang(made);
  SUBCASE("not yet") {
    made.facts().as_of = kBroke + kSecond;
    CHECK(decide(made.facts()).verdict == "healthy");
  }
  SUBCASE("now") {
    made.facts().as_of = kBroke + 10 * kSecond;
    const Verdict verdict = decide(made.facts());
    CHECK(verdict.verdict == "hung");
    CHECK(verdict.kind == "hang");
    CHECK(verdict.first->ranks == Ranks{2});
    CHECK_FALSE(verdict.first->certain);
    REQUIRE(verdict.silent.size() == 1);
    CHECK(verdict.silent[0].rank == 2);
    CHECK(verdict.silent[0].since == kBroke);
  }
}

TEST_CASE("Triage: after the others timed out the silent, living rank is to blame") {
  MadeFacts made(4);
  hang(made);
  for (std::int32_t rank : {0, 1, 3}) {
    made.event(rank, "collective_timeout", "cascade", kBroke + 8 * kSecond);
    made.exit(rank, kBroke + 9 * kSecond);
  }
  made.facts().as_of = kBroke + 20 * kSecond;

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "hung");
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK_FALSE(verdict.first->certain);
  CHECK(verdict.silent[0].rank == 2);
  CHECK(verdict.cascade.size() == 3);
}

TEST_CASE("Triage: of ranks that all time out the one with the fewest collectives is to blame") {
  MadeFacts made(8);
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    made.event(rank, "collective_timeout", "cascade", kBroke + 8 * kSecond).numbers = {
        {"enqueued", rank == 5 ? 807 : 808}, {"completed", 806}};
  }

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "collective_timeout");
  CHECK(verdict.first->ranks == Ranks{5});
  CHECK_FALSE(verdict.first->certain);
}

TEST_CASE("Triage: a slow checkpoint is no hang") {
  MadeFacts made(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    made.process(rank);
    made.say(rank, MadeFacts::kExtra, kBroke).checkpoint = true;
  }
  made.facts().as_of = kBroke + 3 * kSecond;

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "healthy");
  CHECK(verdict.phase == "checkpoint");
}

// Files of ranks whose steps take a minute; rank 2 did not say the last one.
constexpr UnixNanos kMinute = 60 * kSecond;
MadeFacts slow_steps(std::int32_t ranks) {
  MadeFacts made = imported(ranks, 0);
  for (std::int64_t at = 0; at < 6; ++at) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      if (rank != 2 || at < 5) made.iterate(rank, at, kBroke + at * kMinute);
    }
  }
  return made;
}

TEST_CASE("Hang: who lacks a line and says another needs less quiet than who only lacks one") {
  for (const std::int64_t seconds : {50, 75, 100}) {
    CAPTURE(seconds);
    const UnixNanos end = kBroke + 5 * kMinute + seconds * kSecond;
    MadeFacts both = slow_steps(4);
    both.say(2, MadeFacts::kExtra, end);
    CHECK(decide(both.facts()).kind == (seconds > 62 ? "hang" : "healthy"));

    MadeFacts lacks = slow_steps(4);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      lacks.say(rank, MadeFacts::kDone, end - kSecond);
      lacks.say(rank, MadeFacts::kDone, end);
    }
    CHECK(decide(lacks.facts()).kind == (seconds > 92 ? "hang" : "healthy"));
  }
}

TEST_CASE("Hang: a heartbeat is no progress, and who lacks a line before it is odd") {
  for (const bool lacks : {true, false}) {
    CAPTURE(lacks);
    MadeFacts made = imported(8);
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      made.say(rank, MadeFacts::kBefore, kBroke - 50 * kMs, 65);
      if (rank != 5 || !lacks) made.say(rank, MadeFacts::kBefore, kBroke, 65);
      for (int beat = 1; beat <= 5; ++beat) {
        made.say(rank, MadeFacts::kExtra, kBroke + beat * 10 * kSecond, 65);
      }
    }

    const Verdict verdict = decide(made.facts());

    CHECK(verdict.kind == (lacks ? "hang" : "healthy"));
    if (!lacks) continue;
    REQUIRE(verdict.first);
    CHECK(verdict.first->ranks == Ranks{5});
  }
}

TEST_CASE("Hang: a word of the start that most ranks have last leaves nobody behind") {
  constexpr TemplateId kReady = 50;
  MadeFacts made = imported(8, 0);
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    TailLine& ready = made.say(rank, kReady, kBroke - 20 * kSecond);
    // Only rank 0 says iterations, and has them on the lines between.
    if (rank != 0) continue;
    ready.iteration = 0;
    ready.flags |= line_flag::derived_iteration;
  }
  for (std::int64_t at = 0; at < 5; ++at) made.iterate(0, at, kBroke + at * 100 * kMs);
  SUBCASE("and another says every hundredth iteration") {
    made.iterate(1, -190, kBroke - kSecond);
    made.iterate(1, -90, kBroke - 900 * kMs);
    made.of(1).gap = 100;
    made.of(0).gap = 1;
  }
  for (int wait = 1; wait <= 6; ++wait) {
    made.say(6, MadeFacts::kExtra, kBroke + wait * 10 * kSecond).severity = Severity::warning;
  }

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "hang");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{6});
}

TEST_CASE(
    "Hang: a line without a stamp was said when it was observed, where files kept their times") {
  for (const bool copied : {false, true}) {
    CAPTURE(copied);
    MadeFacts made = imported(8);
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      // A word of the start stays the last one on another output.
      TailLine& start = made.say(rank, 50, kBroke - 3 * kSecond);
      start.line.stream = StreamId{StreamBase{9, static_cast<std::uint64_t>(rank)}, 0};
      made.say(rank, MadeFacts::kAfter, kBroke, 70);
    }
    TailLine& wait = made.say(5, MadeFacts::kExtra, kBroke);
    wait.flags |= line_flag::derived_time;
    wait.observed = kBroke + 60 * kSecond;
    if (copied) {
      for (RankFacts& rank : made.facts().ranks) {
        for (TailLine& line : rank.tail) line.observed = kBroke + 86'400 * kSecond;
      }
    }

    const Verdict verdict = decide(made.facts());

    CHECK(verdict.kind == (copied ? "healthy" : "hang"));
    if (verdict.first) CHECK(verdict.first->ranks == Ranks{5});
  }
}

}  // namespace
}  // namespace logarithm::aggregator::triage
