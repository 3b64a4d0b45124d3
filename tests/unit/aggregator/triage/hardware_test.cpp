// Hardware that breaks under a job which then says no more.
#include "aggregator/triage/hardware.h"

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

EventFact& xid(MadeFacts& made, std::int64_t code, UnixNanos time = kBroke) {
  EventFact& event = made.kernel("xid", time);
  event.numbers["xid"] = code;
  return event;
}

// A line of severity error that no rule knows.
void complain(MadeFacts& made, std::int32_t rank, UnixNanos time) {
  made.say(rank, 77, time).severity = Severity::error;
}

TEST_CASE("Hardware: a GPU that fell off the bus is a failure where no rank goes on after it") {
  MadeFacts made = imported(4);
  for (const std::int32_t rank : {0, 2, 3}) complain(made, rank, kBroke + 3 * kSecond);
  xid(made, 79);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "xid");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{1});  // alone it said nothing after it
  CHECK_FALSE(verdict.first->certain);
  CHECK(verdict.cascade.empty());
  CHECK(verdict.summary.find("Nothing is wrong") == std::string::npos);
}

TEST_CASE("Hardware: where nothing ties it to a rank, the failure has no first rank") {
  MadeFacts made = imported(4);
  SUBCASE("all complain") {
    for (std::int32_t rank = 0; rank < 4; ++rank) complain(made, rank, kBroke + 3 * kSecond);
  }
  SUBCASE("all stop at the same line of their routine") {}
  xid(made, 79);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "xid");
  CHECK_FALSE(verdict.first);
  CHECK(verdict.summary ==
        "The job failed (xid): the kernel of n1 reports xid 79, and no rank went on after it.");
}

TEST_CASE("Hardware: the ranks of its host are meant where hosts are known") {
  MadeFacts made(4);
  for (const std::int32_t rank : {2, 3}) made.of(rank).host = "n2";
  SUBCASE("fatal") { xid(made, 79); }
  SUBCASE("of a class that is a cause") { xid(made, 31); }

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{0, 1});
  CHECK(verdict.first->host == "n1");
}

TEST_CASE("Hardware: a cause that a rank named is not the Xid that came behind it") {
  MadeFacts made(4);
  made.event(2, "exception", "root", kBroke);
  for (const std::int32_t rank : {0, 1, 3}) {
    made.event(rank, "connection_lost", "cascade", kBroke + kSecond);
  }
  std::string kind;
  SUBCASE("another program's, on the same host") {
    xid(made, 79, kBroke + 10 * kSecond);
    kind = "exception";
  }
  SUBCASE("in front of it, the Xid explains it") {
    xid(made, 79, kBroke - kSecond);
    kind = "xid";
  }
  const Verdict verdict = decide(made.facts());
  CHECK(verdict.kind == kind);
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
}

TEST_CASE("Hardware: a complaint without a stamp came behind the Xid that explains it") {
  MadeFacts made(4);
  // Its rank's last stamp is 18 seconds old, and the next one never came.
  made.event(2, "exception", "root", kBroke);
  for (const std::int32_t rank : {0, 1, 3}) {
    made.event(rank, "connection_lost", "cascade", kBroke + 30 * kSecond);
  }
  UnixNanos expected = kBroke;
  SUBCASE("between the two stamps") {
    made.facts().events[0].when = {kBroke - 18 * kSecond, kBroke + 20 * kSecond};
    xid(made, 79);
  }
  SUBCASE("before both, the rank's own time says more") {
    made.facts().events[0].when = {kBroke + kSecond, kBroke + 2 * kSecond};
    xid(made, 79);
    expected = kBroke + kSecond;
  }
  SUBCASE("a little behind, where clocks of one host differ") {
    made.facts().events[0].when = {kBroke - kSecond, kBroke - kSecond + kMs};
    xid(made, 79);
    expected = kBroke - kSecond;
  }
  const Verdict verdict = decide(made.facts());
  CHECK(verdict.kind == "xid");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK(verdict.first->time == expected);
}

TEST_CASE("Hardware: what the job went on after, or ended in order after, is no failure") {
  MadeFacts made(4);
  SUBCASE("it went on") { xid(made, 79, MadeFacts::time_of(40)); }
  SUBCASE("it ended in order") {
    xid(made, 79);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      made.say(rank, MadeFacts::kDone, kBroke + kSecond);
    }
  }
  SUBCASE("its processes ended with status 0") {
    xid(made, 79);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      made.exit(rank, kBroke + kSecond).process(rank).exit_status = 0;
    }
  }
  SUBCASE("it lives") {
    xid(made, 79);
    for (std::int32_t rank = 0; rank < 4; ++rank) made.process(rank);
    made.facts().live = true;
    made.facts().as_of = kBroke + kSecond;
  }
  SUBCASE("an Xid of a program's own fault that nothing ties to the ranks") {
    for (std::int32_t rank = 0; rank < 4; ++rank) made.of(rank).host = "n2";
    xid(made, 43);
  }
  CHECK(decide(made.facts()).verdict == "healthy");
}

TEST_CASE("Hardware: a hang behind a lost GPU is that GPU's, behind any other Xid it is a hang") {
  MadeFacts made(4);
  made.facts().live = true;
  for (std::int32_t rank = 0; rank < 4; ++rank) made.process(rank);
  for (const std::int32_t rank : {0, 2, 3}) made.iterate(rank, 70, kBroke);
  made.facts().as_of = kBroke + 600 * kSecond;
  REQUIRE(decide(made.facts()).verdict == "hung");
  SUBCASE("lost") {
    xid(made, 79);
    CHECK(decide(made.facts()).kind == "xid");
    CHECK(decide(made.facts()).verdict == "failed");
  }
  SUBCASE("any other") {
    xid(made, 31);
    CHECK(decide(made.facts()).verdict == "hung");
  }
}

TEST_CASE("Hardware: who was silent for long and then killed died of what its kernel says") {
  MadeFacts made = imported(4);
  const UnixNanos killed = kBroke + 1800 * kSecond;
  for (const std::int32_t rank : {0, 1, 3}) {
    SUBCASE("the others' stamps") {
      for (int at = 0; at < 5; ++at) made.iterate(rank, 70 + at, killed - (5 - at) * kSecond);
    }
    SUBCASE("the times of their files") {
      TailLine& line = made.say(rank, MadeFacts::kExtra, kBroke);
      line.flags |= line_flag::derived_time;
      line.observed = killed;
    }
  }
  EventFact& report = made.event(std::nullopt, "child_failed", "cascade", killed + kSecond);
  report.numbers = {{"exitcode", -9}, {"pid", 4711}, {"local_rank", 2}};
  made.kernel("host_oom", killed).numbers["pid"] = 4711;
  made.facts().pids[2] = {4711};

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "host_oom");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
}

}  // namespace
}  // namespace logarithm::aggregator::triage
