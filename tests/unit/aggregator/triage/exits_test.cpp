// Exit statuses that `logarithm run` saw.
#include "aggregator/triage/exits.h"

#include <doctest/doctest.h>

#include "aggregator/triage/decide.h"
#include "tests/unit/aggregator/triage/made_facts.h"

namespace logarithm::aggregator::triage {
namespace {

using test::kMs;
using test::kSecond;
using test::MadeFacts;
using Ranks = std::vector<std::int32_t>;

const UnixNanos kEnd = MadeFacts::time_of(70) + kSecond;

constexpr std::int32_t code(int number) { return number << 8; }  // as waitpid has it
constexpr std::int32_t by_signal(int number) { return number; }

void end(MadeFacts& made, std::int32_t rank, std::int32_t status, UnixNanos time = kEnd) {
  made.exit(rank, time).process(rank).exit_status = status;
  made.process(rank).exit_error = 10 * kMs;
}

TEST_CASE("Exits: a rank that ends with a status without a word is named") {
  MadeFacts made(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) made.say(rank, MadeFacts::kDone, kEnd - 100 * kMs);
  end(made, 0, code(0));
  end(made, 1, code(3));

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "exit");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{1});
  REQUIRE_FALSE(verdict.evidence.empty());
  CHECK(verdict.evidence[0].claim == "rank 1 ended with exit status 3, without a word");
}

TEST_CASE("Exits: a signal is named, by waitpid's word or a shell's, but not the ones to stop") {
  MadeFacts made(2);
  end(made, 0, code(0));
  SUBCASE("kill -9") { end(made, 1, by_signal(9)); }
  SUBCASE("kill -9 of the shell's child") { end(made, 1, code(137)); }
  SUBCASE("SIGTERM") {
    end(made, 1, by_signal(15));
    CHECK(decide(made.facts()).verdict == "healthy");
    return;
  }
  const Verdict verdict = decide(made.facts());
  CHECK(verdict.kind == "killed");
  CHECK(verdict.evidence[0].claim == "rank 1 ended by signal 9, without a word");
}

TEST_CASE("Exits: ranks that nobody can order are first together, a later one follows") {
  MadeFacts made(4);
  for (const std::int32_t rank : {0, 1, 2}) end(made, rank, code(3), kEnd + rank * kMs);
  end(made, 3, code(1), kEnd + 5 * kSecond);

  const Verdict verdict = decide(made.facts());

  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{0, 1, 2});
}

TEST_CASE("Exits: who names a cause comes before who ends without a word") {
  MadeFacts made(2);
  made.event(0, "exception", "root", kEnd - 500 * kMs);
  end(made, 0, code(1));
  end(made, 1, code(3), kEnd + kSecond);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.kind == "exception");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{0});
}

TEST_CASE("Exits: a rank that was ended after all others gave up hangs, whatever its status") {
  MadeFacts made(3);
  for (const std::int32_t rank : {0, 1}) {
    made.event(rank, "collective_timeout", "cascade", kEnd);
    end(made, rank, code(1), kEnd + kSecond);
  }
  end(made, 2, by_signal(9), kEnd + 60 * kSecond);

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "hung");
  REQUIRE(verdict.first);
  CHECK(verdict.first->ranks == Ranks{2});
}

TEST_CASE("Exits: a process that is no rank is named where nothing else is wrong") {
  MadeFacts made(0);
  made.facts().unranked.push_back({"n1", 77, code(7), kEnd});

  const Verdict verdict = decide(made.facts());

  CHECK(verdict.verdict == "failed");
  CHECK(verdict.kind == "exit");
  CHECK_FALSE(verdict.first);
  CHECK(verdict.summary == "The job failed (exit): its process 77 on n1 ended with exit status 7.");

  made.facts().unranked.front().exit_status = code(0);
  CHECK(decide(made.facts()).verdict == "healthy");
}

}  // namespace
}  // namespace logarithm::aggregator::triage
