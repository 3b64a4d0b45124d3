#include "aggregator/triage/clocks.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/unit/aggregator/triage/made_facts.h"

namespace logarithm::aggregator::triage {
namespace {

using test::kMs;
using test::kSecond;
using test::MadeFacts;

// Rank 1 on a host of its own, whose clock is ahead by `offset`.
MadeFacts two_hosts(std::int64_t offset) {
  MadeFacts made(2);
  made.of(1).host = "n2";
  for (IterationStart& start : made.of(1).iterations) start.time += offset;
  return made;
}

TEST_CASE("Clocks: ranks of one host have one clock") {
  MadeFacts made(2);

  const Clocks clocks(made.facts());

  const auto offset = clocks.between(made.of(0), made.of(1));
  REQUIRE(offset);
  CHECK(offset->lo == 0);
  CHECK(offset->hi == 0);
}

TEST_CASE("Clocks: barriers bound the offset of another host") {
  MadeFacts made = two_hosts(3 * kSecond);

  const auto offset = Clocks(made.facts()).between(made.of(1), made.of(0));

  REQUIRE(offset);
  CHECK(offset->lo <= 3 * kSecond);
  CHECK(offset->hi >= 3 * kSecond);
  CHECK(offset->hi - offset->lo <= 210 * kMs);  // two logged steps of 100 ms, and the stamps
  CHECK(offset->estimate == 3 * kSecond);
}

TEST_CASE(
    "Clocks: a rank that is always late moves the estimate, never the bounds past the truth") {
  std::mt19937 random(42);
  for (int round = 0; round < 200; ++round) {
    const auto truth = static_cast<std::int64_t>(random() % 10'000) * kMs - 5 * kSecond;
    MadeFacts made = two_hosts(truth);
    for (IterationStart& start : made.of(1).iterations) {
      start.time += static_cast<std::int64_t>(random() % 20) * kMs;
    }
    CAPTURE(round);

    const auto offset = Clocks(made.facts()).between(made.of(1), made.of(0));

    REQUIRE(offset);
    CHECK(offset->lo <= truth);
    CHECK(offset->hi >= truth);
  }
}

TEST_CASE("Clocks: a clock that was set meanwhile is unknown") {
  MadeFacts made = two_hosts(0);
  for (std::size_t i = 7; i < made.of(1).iterations.size(); ++i) {
    made.of(1).iterations[i].time += 5 * kSecond;
  }

  CHECK_FALSE(Clocks(made.facts()).between(made.of(1), made.of(0)));
}

TEST_CASE("Clocks: without stamps and measurements nothing is known") {
  MadeFacts made = two_hosts(0);
  made.of(1).stamped = false;

  CHECK_FALSE(Clocks(made.facts()).between(made.of(1), made.of(0)));
}

TEST_CASE("Clocks: what agents measured stands alone, and narrows barriers") {
  MadeFacts made = two_hosts(3 * kSecond);
  made.facts().clocks["n1"] = {0, kMs};
  made.facts().clocks["n2"] = {3 * kSecond, 2 * kMs};
  SUBCASE("alone") { made.of(1).stamped = false; }
  SUBCASE("with barriers") {}

  const auto offset = Clocks(made.facts()).between(made.of(1), made.of(0));

  REQUIRE(offset);
  CHECK(offset->lo >= 3 * kSecond - 3 * kMs);
  CHECK(offset->hi <= 3 * kSecond + 3 * kMs);
}

}  // namespace
}  // namespace logarithm::aggregator::triage
