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

// Aggregator minus host, as storage keeps it.
ClockReading reading(std::int64_t at, std::int64_t offset, std::int64_t error) {
  return {at * kSecond, offset * kMs, error * kMs};
}

TEST_CASE("Clock history: the reading before the attempt stands until the next") {
  const std::vector<ClockReading> history = {reading(10, -900, 1), reading(100, -20, 2),
                                             reading(900, 500, 1)};

  const auto clock = clock_over(history, 200 * kSecond, 300 * kSecond);

  REQUIRE(clock);  // -20 ± 2 … 500 ± 1, the other way round: the next may have begun just after
  CHECK(clock->offset - clock->error <= -501 * kMs);
  CHECK(clock->offset + clock->error >= 22 * kMs);
  CHECK(clock->offset + clock->error < 30 * kMs);
}

TEST_CASE("Clock history: what stands to the end is exact") {
  const auto clock = clock_over({reading(100, -20, 2)}, 200 * kSecond, 300 * kSecond);

  REQUIRE(clock);
  CHECK(clock->offset == 20 * kMs);
  CHECK(clock->error == 2 * kMs);
}

TEST_CASE("Clock history: before the first reading a clock may have drifted") {
  const auto clock = clock_over({reading(300, -20, 2)}, 200 * kSecond, 400 * kSecond);

  REQUIRE(clock);
  CHECK(clock->offset == 20 * kMs);
  CHECK(clock->error == 22 * kMs);
}

TEST_CASE("Clock history: none is none") {
  CHECK_FALSE(clock_over({}, 0, 100 * kSecond).has_value());
}

TEST_CASE("Clocks: what agents measured orders hosts without common iterations") {
  MadeFacts made = two_hosts(3 * kSecond);
  made.of(1).iterations.clear();
  made.facts().clocks = {{"n1", {0, kMs}}, {"n2", {3 * kSecond, kMs}}};

  const auto offset = Clocks(made.facts()).between(made.of(1), made.of(0));

  REQUIRE(offset);
  CHECK(offset->lo == 3 * kSecond - 2 * kMs);
  CHECK(offset->hi == 3 * kSecond + 2 * kMs);
}

}  // namespace
}  // namespace logarithm::aggregator::triage
