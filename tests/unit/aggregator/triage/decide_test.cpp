#include "aggregator/triage/decide.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/aggregator/triage/made_facts.h"

namespace logarithm::aggregator::triage {
namespace {

using test::end_all;
using test::imported;
using test::kBroke;
using test::kMs;
using test::kSecond;
using test::MadeFacts;
using test::Ranks;

// All but `spared` lose the connection 50 ms after the break.
void lose_peers(MadeFacts& made, std::int32_t spared, const char* kind = "peer_lost",
                UnixNanos after = 50 * kMs) {
  for (auto& rank : made.facts().ranks) {
    if (rank.rank != spared) made.event(rank.rank, kind, "cascade", kBroke + after);
  }
}

TEST_CASE("Triage: what is not captured is said where nothing is wrong, or nothing is known") {
  MadeFacts made(2);
  made.of(1).not_captured["stdout"] = "pipe, read by cat";
  CHECK(decide(made.facts())
            .summary.ends_with("Not captured: stdout of rank 1 (pipe, read by cat)."));

  MadeFacts blind(1, 0);
  blind.of(0).not_captured = {{"stdout", "pipe"}, {"stderr", "tty"}};
  CHECK(
      decide(blind.facts()).summary ==
      "Nothing can be said: no line of its 1 rank is stored. Not captured: stderr of rank 0 (tty) "
      "and 1 more outputs.");
}

TEST_CASE("Triage: a job that ended in order is healthy") {
  MadeFacts made(4);
  end_all(made);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "healthy");
  CHECK(verdict.phase == "end");
  CHECK(verdict.evidence.empty());
  CHECK_FALSE(verdict.first);
}

TEST_CASE("Triage: the rank that names a cause is first, all others are one cascade row") {
  MadeFacts made(512);
  lose_peers(made, 17);
  EventFact& root = made.event(17, "exception", "root", kBroke);
  root.words["exc_type"] = "RuntimeError";

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "exception");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{17});
  CHECK(verdict.first->certain);
  CHECK(*verdict.first->margin_ms == doctest::Approx(50));
  CHECK(verdict.cascade.size() == 511);
  std::size_t rows = 0;
  for (const Evidence& evidence : verdict.evidence) rows += evidence.klass == "cascade" ? 1 : 0;
  CHECK(rows == 1);
  CHECK(verdict.evidence.back().claim ==
        "the order is certain: 50 ms before the next one, times known to ± 1 ms");
}

TEST_CASE("Triage: times that overlap are not certain, and the cause is still found by its class") {
  MadeFacts made(4);
  lose_peers(made, 2);
  EventFact& root = made.event(2, "exception", "root", kBroke);
  root.when.hi = kBroke + kSecond;  // a traceback without a stamp

  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK_FALSE(verdict.first->certain);
  // The middle of that wide time lies behind those of the others.
  CHECK(*verdict.first->margin_ms == doctest::Approx(-449.5));
  CHECK(verdict.evidence.back().claim ==
        "the failures cannot be ordered by time: 449.5 ms apart, times known to ± 500.5 ms");
}

TEST_CASE("Triage: clocks of unknown offset give no certain order") {
  MadeFacts made(4);
  made.of(2).host = "n2";
  made.of(2).stamped = false;
  lose_peers(made, 2);
  made.event(2, "exception", "root", kBroke);

  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK_FALSE(verdict.first->certain);
  CHECK_FALSE(verdict.first->margin_ms);
}

TEST_CASE("Triage: an exception that names a lost peer in the same record is no cause") {
  MadeFacts made(4);
  for (std::int32_t rank : {0, 1, 3}) {
    made.event(rank, "exception", "root", kBroke + 50 * kMs);
    made.event(rank, "peer_lost", "cascade", kBroke + 50 * kMs);
  }
  made.event(2, "gpu_oom", "root", kBroke + 60 * kMs);  // later, by a stamp

  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK(verdict.kind == "gpu_oom");
  CHECK_FALSE(verdict.first->certain);
}

TEST_CASE("Triage: what a rank survived is no failure") {
  MadeFacts made(4, 40);
  made.event(1, "exception", "root", MadeFacts::time_of(36));
  made.event(3, "peer_lost", "cascade", MadeFacts::time_of(37));
  SUBCASE("it went on") {
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      made.iterate(rank, 40, MadeFacts::time_of(40)).iterate(rank, 45, MadeFacts::time_of(45));
    }
    made.facts().as_of = MadeFacts::time_of(46);
  }
  SUBCASE("it ended as its peers did") { end_all(made); }

  CHECK(decide(made.facts()).verdict == "healthy");
}

TEST_CASE("Triage: a rank without a word while the others lost the connection was killed") {
  MadeFacts made(4);
  lose_peers(made, 2);
  SUBCASE("its exit was seen") {
    for (std::int32_t rank = 0; rank < 4; ++rank) made.exit(rank, kBroke + kSecond);
    made.exit(2, kBroke + 5 * kMs).process(2).exit_error = 10 * kMs;
    CHECK(decide(made.facts()).first->certain);
  }
  SUBCASE("files alone") { CHECK_FALSE(decide(made.facts()).first->certain); }

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "killed");
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK(verdict.cascade.size() == 3);
}

TEST_CASE("Triage: a launcher's report names the rank that a signal ended") {
  MadeFacts made(4);
  made.process(1);
  EventFact& report = made.event(std::nullopt, "child_failed", "cascade", kBroke + kSecond);
  report.numbers = {{"exitcode", -9}, {"pid", 101}, {"local_rank", 1}};
  for (std::int32_t rank = 0; rank < 4; ++rank) made.exit(rank, kBroke + kSecond);
  made.event(0, "peer_lost", "cascade", kBroke + 100 * kMs);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "killed");
  CHECK(verdict.first->ranks == Ranks{1});
}

TEST_CASE("Triage: the kernel's word explains a death, and names the rank by its pid") {
  MadeFacts made(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) made.exit(rank, kBroke + kSecond);
  made.exit(2, kBroke);
  lose_peers(made, 2);
  made.kernel("host_oom", kBroke - 10 * kMs).numbers["pid"] = 102;

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "host_oom");
  CHECK(verdict.first->ranks == Ranks{2});
  REQUIRE(verdict.hardware.size() == 1);
  CHECK(verdict.hardware[0].rank == 2);
}

TEST_CASE("Triage: an Xid is of the rank that holds the GPU") {
  MadeFacts made(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    made.process(rank).gpus = {{rank, "", "0000:0" + std::to_string(rank + 1) + ":00.0"}};
  }
  lose_peers(made, 3);
  made.event(3, "gpu_error", "root", kBroke);
  EventFact& xid = made.kernel("xid", kBroke - 100 * kMs);
  xid.words["pci"] = "0000:04:00";
  xid.numbers["xid"] = 79;

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "xid");
  CHECK(verdict.first->ranks == Ranks{3});
  CHECK(verdict.hardware[0].code == 79);
}

TEST_CASE("Triage: an Xid that nothing came of is listed and no failure") {
  MadeFacts made(4);
  end_all(made);
  made.kernel("xid", kBroke).words["pci"] = "0000:04:00";

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "healthy");
  CHECK(verdict.hardware.size() == 1);
}

void number(MadeFacts& made, std::int32_t rank, const std::string& key, std::int64_t iteration,
            double value) {
  Metric& metric = made.of(rank).metrics[key];
  Sample sample{iteration, value, made.of(rank).tail.back().line, MadeFacts::time_of(iteration)};
  metric.samples.push_back(sample);
  if (value == value) metric.finite_before = true;
  if (value != value && !metric.first_nan) metric.first_nan = sample;
}

TEST_CASE("Triage: a NaN is of the rank where the fewest numbers share its iteration") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  MadeFacts made(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    for (std::int64_t at = 0; at < 100; at += 5) {
      number(made, rank, "grad_norm", at, at >= 70 ? nan : 1.0);
      number(made, rank, "loss", at, at >= (rank == 2 ? 70 : 75) ? nan : 0.1 * rank);
    }
    made.event(rank, "nan", "root", kBroke + kSecond);  // all stop because of it
  }

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "nan");
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK(verdict.first->iteration == 70);
}

TEST_CASE("Triage: times and rates that were alike by chance need not agree") {
  for (const std::string key : {"batch_ready_in_ms", "tps", "step_time", "max_memory"}) {
    CAPTURE(key);
    MadeFacts made(4);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      for (std::int64_t at = 0; at < 70; at += 5) {
        number(made, rank, key, at, rank == 3 && at >= 50 ? 0.2 : 0.1);
      }
    }
    end_all(made);
    CHECK(decide(made.facts()).kind != "corruption");
  }
}

TEST_CASE("Triage: numbers that agreed and do not any more show the rank that departed") {
  MadeFacts made(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    for (std::int64_t at = 0; at < 70; at += 5) {
      number(made, rank, "grad_norm", at, rank == 3 && at >= 50 ? 1.5 : 1.0);
      number(made, rank, "loss", at, 0.1 * rank);  // never agreed
    }
  }
  end_all(made);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "corruption");
  CHECK(verdict.first->ranks == Ranks{3});
  CHECK(verdict.first->iteration == 50);
}

TEST_CASE("Triage: a number said with four digits and with six is one number") {
  // Rank 2's line with six digits has arrived, the one with four has not.
  for (const bool departs : {false, true}) {
    MadeFacts made(4);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      for (std::int64_t at = 0; at < 70; at += 5) {
        const bool late = rank == 2 && at == 65;
        number(made, rank, "grad_norm", at, !late ? 3.1323 : departs ? 3.132412 : 3.132251);
        made.of(rank).metrics["grad_norm"].samples.back().template_id = late ? 2 : 1;
      }
    }
    end_all(made);

    CHECK(decide(made.facts()).kind == (departs ? "corruption" : "healthy"));
  }
}

TEST_CASE("Triage: what a rank without iterations talked on after is no failure") {
  for (const int further : {2, 12}) {
    CAPTURE(further);
    MadeFacts made(4);
    made.of(2).iterations.clear();
    made.of(2).tail.clear();
    EventFact& reset = made.event(2, "network", "cascade", MadeFacts::time_of(68));
    reset.when.hi += 3600 * kSecond;  // nobody knows when
    for (int i = 0; i < further; ++i) made.say(2, MadeFacts::kExtra, MadeFacts::time_of(69));

    CHECK((decide(made.facts()).verdict == "healthy") == (further > 2));
  }
}

TEST_CASE("Triage: what stands before further iterations in a shared file was survived") {
  enum class Case { shared, apart, trouble, flushed };
  for (const Case what : {Case::shared, Case::apart, Case::trouble, Case::flushed}) {
    CAPTURE(static_cast<int>(what));
    MadeFacts made = imported(4, 0);
    for (std::int32_t rank = 1; rank < 4; ++rank) made.say(rank, MadeFacts::kExtra, kBroke);
    // Without a stamp: it was written at any time until the file's last one.
    EventFact& event = made.event(2, "exception", "root", kBroke);
    event.when.hi = kBroke + 600 * kSecond;
    // What was printed before, and flushed when its rank lost its peer, stands behind it, too.
    const UnixNanos begin = what == Case::flushed ? kBroke - 10 * kSecond : kBroke;
    for (std::int64_t at = 0; at < 5; ++at) made.iterate(0, at, begin + at * kSecond);
    const LineRef own = event.line;
    if (what == Case::trouble) made.event(0, "peer_lost", "cascade", kBroke + 9 * kSecond);
    if (what != Case::apart) {
      for (RankFacts& rank : made.facts().ranks) {
        for (TailLine& line : rank.tail) line.line.stream = own.stream;
      }
    }

    CHECK(decide(made.facts()).verdict == (what == Case::shared ? "healthy" : "failed"));
  }
}

TEST_CASE("Triage: an Xid that the job went on after explains no later failure of others") {
  MadeFacts made(4, 2000);
  made.kernel("xid", MadeFacts::time_of(200)).numbers["pid"] = 101;
  made.process(1);
  made.event(3, "exception", "root", MadeFacts::time_of(2000));
  lose_peers(made, 3);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "exception");
  CHECK(verdict.first->ranks == Ranks{3});
}

TEST_CASE("Triage: a launcher that was told to stop was preempted, not broken") {
  MadeFacts made(4);
  EventFact& told = made.event(std::nullopt, "teardown", "teardown", kBroke);
  told.words["received"] = "SIGTERM";
  for (std::int32_t rank = 0; rank < 4; ++rank) made.exit(rank, kBroke + kSecond);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "preempted");
  CHECK(verdict.kind == "preemption");
}

TEST_CASE("Triage: a failure before the stop is the cause") {
  MadeFacts made(4);
  made.event(1, "exception", "root", kBroke - kSecond);
  EventFact& told = made.event(std::nullopt, "teardown", "teardown", kBroke);
  told.words["received"] = "SIGTERM";

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.first->ranks == Ranks{1});
}

TEST_CASE("Triage: an exception before the first iteration is a bad start") {
  MadeFacts made(4, 0);
  for (std::int32_t rank = 0; rank < 4; ++rank)
    made.say(rank, MadeFacts::kBefore, kBroke - kSecond);
  made.event(1, "exception", "root", kBroke);
  lose_peers(made, 1);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "start");
  CHECK(verdict.phase == "start");
  CHECK(verdict.first->ranks == Ranks{1});
}

TEST_CASE("Triage: no line of any rank is no failure") {
  MadeFacts made(0);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "healthy");
  CHECK_FALSE(verdict.summary.empty());
}

EventFact& raise_at_start(MadeFacts& made, std::int32_t rank, const char* words,
                          UnixNanos spread = kSecond) {
  EventFact& event = made.event(rank, "exception", "root", kBroke);
  event.when.hi = kBroke + spread;  // a traceback without a stamp
  event.words["exc_type"] = "ModuleNotFoundError";
  event.words["exc_msg"] = words;
  return event;
}

TEST_CASE("Triage: what all ranks raise alike, in no known order, nobody raised first") {
  MadeFacts made(4, 0);
  for (std::int32_t rank = 0; rank < 4; ++rank) raise_at_start(made, rank, "No module named 'foo'");

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "start");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{0, 1, 2, 3});
  CHECK_FALSE(verdict.first->certain);
  CHECK(verdict.cascade.empty());
  for (const Evidence& evidence : verdict.evidence) CHECK(evidence.klass != "cascade");
  CHECK(verdict.summary ==
        "Ranks 0-3 on n1 were the first to fail (start): ranks 0-3 named the same cause: "
        "ModuleNotFoundError: No module named 'foo'.");
}

TEST_CASE("Triage: what all ranks raise alike but for numbers and one who says nothing is alike") {
  MadeFacts made(8, 0);
  for (std::int32_t rank = 0; rank < 7; ++rank) {
    raise_at_start(made, rank, ("no shard " + std::to_string(rank)).c_str());
  }
  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{0, 1, 2, 3, 4, 5, 6});
  CHECK(verdict.cascade.empty());
}

TEST_CASE("Triage: other words, another place or a known order tell who was first") {
  MadeFacts made(4, 0);
  for (std::int32_t rank = 0; rank < 4; ++rank) raise_at_start(made, rank, "lost", kMs);
  auto& events = made.facts().events;
  SUBCASE("other words") { events[2].words["exc_msg"] = "bad sample"; }
  SUBCASE("another kind") { events[2].kind = "gpu_oom"; }
  SUBCASE("a known order") {
    for (std::size_t i : {0u, 1u, 3u}) {
      events[i].when.lo += 50 * kMs;
      events[i].when.hi += 50 * kMs;
    }
  }
  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
  CHECK(verdict.cascade.size() == 3);
}

}  // namespace
}  // namespace logarithm::aggregator::triage
