#include "aggregator/compare/sides.h"

#include <doctest/doctest.h>

#include "tests/support/spmd_job.h"
#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

using test::SpmdJob;

Comparison against(const SpmdJob& run, const SpmdJob& other) {
  Comparison out;
  fold_on_worker([&](BlockingToken& token) {
    JobView a(JobKey{"default", "a"}, run.make()), b(JobKey{"default", "b"}, other.make());
    RankSurvey of_a(a, 0), of_b(b, 0);
    const ScanPlan plan = fold_plan({});
    fold_all(token, a, plan, of_a);
    fold_all(token, b, plan, of_b);
    ComparingSides comparing(of_a, of_b, 100);
    int asked = 0;
    for (int turns = 0; turns < 10'000; ++turns) {
      auto done = comparing.step(token, {&a, &b}, [&] { return ++asked % 3 == 0; });
      REQUIRE_MESSAGE(done.ok(), done.error().to_string());
      if (*done) break;
    }
    out = std::move(comparing.result());
  });
  return out;
}

}  // namespace

TEST_CASE("ComparingSides: a run that prints what the other did has no departures") {
  const SpmdJob run;
  SpmdJob longer;
  longer.iterations = 60;
  CHECK(against(run, run).departures.empty());
  CHECK(against(run, longer).departures.empty());
}

TEST_CASE("ComparingSides: what many ranks print otherwise is told once, with its iteration") {
  SpmdJob before, now;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    for (int i = 20; i < 30; ++i) {
      now.extras.push_back({rank, i, "slow collective on ring 2", Severity::warning});
    }
  }
  before.extras.push_back({3, 12, "cache flushed", Severity::info});
  const Comparison found = against(now, before);
  REQUIRE(found.departures.size() == 2);
  const Told& extra = found.departures[0];
  CHECK(extra.departure.kind == DepartureKind::extra);
  CHECK(extra.iteration == 20);
  CHECK(extra.departure.times == 80);
  CHECK(extra.others.size() == 8);
  CHECK(extra.text == "slow collective on ring 2");
  const Told& missing = found.departures[1];
  CHECK(missing.departure.kind == DepartureKind::missing);
  CHECK(missing.rank == 3);
  CHECK(missing.text == "cache flushed");
  CHECK(missing.line_id.find(':') != std::string::npos);
  REQUIRE(found.first.has_value());
  CHECK(found.departures[*found.first].rank == 3);
}

}  // namespace logarithm::aggregator
