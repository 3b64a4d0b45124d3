#include "aggregator/compare/comparison.h"

#include <doctest/doctest.h>

#include "tests/support/spmd_job.h"
#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

using test::SpmdJob;

Comparison compare(const SpmdJob& job, PeerRule rule = {}) {
  Comparison out;
  fold_on_worker([&](BlockingToken& token) {
    JobView view(JobKey{"default", "spmd"}, job.make());
    RankSurvey survey(view, 0);
    const ScanPlan plan = fold_plan({});
    fold_all(token, view, plan, survey);
    Comparing comparing(survey, std::move(rule), 100);
    int asked = 0;
    for (int turns = 0; turns < 10'000; ++turns) {
      auto done = comparing.step(token, view, [&] { return ++asked % 4 == 0; });
      REQUIRE_MESSAGE(done.ok(), done.error().to_string());
      if (*done) break;
    }
    out = std::move(comparing.result());
  });
  return out;
}

std::string told(const Comparison& comparison) {
  std::string out;
  for (const Told& departure : comparison.departures) {
    out += std::to_string(departure.rank) + " " + std::string(to_string(departure.departure.kind)) +
           " " + (departure.iteration ? std::to_string(*departure.iteration) : "-") + " " +
           departure.text + "\n";
  }
  return out;
}

SpmdJob random_job(std::mt19937& random) {
  SpmdJob job;
  job.ranks = 4 + static_cast<std::int32_t>(random() % 13);
  job.iterations = 12 + static_cast<int>(random() % 40);
  job.stages = random() % 3 == 0 && job.ranks >= 8 ? 2 : 1;
  job.block_lines = 20 + random() % 200;
  return job;
}

}  // namespace

TEST_CASE("Comparing: ranks that print the same have a consensus and no departures") {
  const SpmdJob job;
  const Comparison found = compare(job);
  CHECK_MESSAGE(found.departures.empty(), told(found));
  CHECK_FALSE(found.first.has_value());
  CHECK(found.ranks.size() == 8);
  REQUIRE(found.peers.size() == 1);
  REQUIRE(!found.patterns.empty());
  CHECK(found.patterns[0].count == 40);
  REQUIRE(found.patterns[0].iterations.size() == 1);
  CHECK(found.patterns[0].iterations[0] == std::pair<std::int64_t, std::int64_t>{0, 39});
  CHECK(found.patterns[0].groups.size() == 4);
  REQUIRE(found.values.size() == 1);
  CHECK(found.values[0].key == "loss");
}

TEST_CASE("Comparing: an extra line, a missing one and another value are found where they are") {
  SpmdJob job;
  SUBCASE("extra") {
    job.extras.push_back({5, 17, "retrying batch from slow shard", Severity::warning});
    const Comparison found = compare(job);
    REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
    CHECK(told(found) == "5 extra 17 retrying batch from slow shard\n");
    CHECK(found.departures[0].line_id.find(':') != std::string::npos);
    CHECK(found.first == 0);
  }
  SUBCASE("missing") {
    job.left_out.push_back({3, 21, "forward took", {}});
    const Comparison found = compare(job);
    REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
    CHECK(found.departures[0].rank == 3);
    CHECK(found.departures[0].iteration == 21);
    CHECK(found.departures[0].departure.kind == DepartureKind::missing);
    CHECK(found.departures[0].text.starts_with("forward took"));
  }
  SUBCASE("value") {
    job.corrupt.push_back({6, 30, 30, 0.5});
    const Comparison found = compare(job);
    REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
    CHECK(found.departures[0].rank == 6);
    CHECK(found.departures[0].iteration == 30);
    CHECK(found.departures[0].key == "loss");
    CHECK(found.departures[0].text.starts_with("loss "));
    CHECK(found.departures[0].group != 0);
  }
  SUBCASE("a rank that dies early") {
    job.dies_after[2] = 25;
    const Comparison found = compare(job);
    REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
    CHECK(found.departures[0].rank == 2);
    CHECK(found.departures[0].iteration == 25);
    CHECK(found.departures[0].departure.ended);
  }
  SUBCASE("what comes first is not what is most unusual") {
    job.extras.push_back({5, 30, "RuntimeError: bad shard", Severity::error});
    job.left_out.push_back({1, 8, "memory", {}});
    const Comparison found = compare(job);
    REQUIRE_MESSAGE(found.departures.size() == 2, told(found));
    CHECK(found.departures[0].rank == 5);
    REQUIRE(found.first.has_value());
    CHECK(found.departures[*found.first].rank == 1);
    CHECK(found.departures[*found.first].iteration == 8);
  }
}

TEST_CASE("Comparing: a time is no value that must agree, as the unit behind it says") {
  SpmdJob job;
  job.slow.push_back({2, 25, 25, 1.5});
  job.slow.push_back({2, 30, 30, 40'000});
  const Comparison found = compare(job);
  CHECK_MESSAGE(found.departures.empty(), told(found));
  CHECK_FALSE(found.first.has_value());
  REQUIRE(found.values.size() == 1);
  CHECK(found.values[0].key == "loss");
}

TEST_CASE("Comparing: pipeline stages are compared with their own") {
  SpmdJob job;
  job.stages = 2;
  job.ranks = 16;
  CHECK_MESSAGE(compare(job).departures.empty(), told(compare(job)));
  CHECK(compare(job).peers.size() == 2);
  job.left_out.push_back({4, 11, "embedding", {}});
  const Comparison found = compare(job);
  REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
  CHECK(found.departures[0].rank == 4);
  // As one class, the stages would be each other's departures.
  PeerRule halves;
  halves.kind = PeerRule::Kind::given;
  halves.given = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
  const Comparison given = compare(job, halves);
  CHECK(given.departures.front().rank == 4);
}

TEST_CASE("Comparing: of two ranks the one that logs for both may print more") {
  SpmdJob job;
  job.ranks = 2;
  CHECK_MESSAGE(compare(job).departures.empty(), told(compare(job)));
  job.left_out.push_back({1, 12, "memory", {}});
  const Comparison found = compare(job);
  REQUIRE_MESSAGE(found.departures.size() == 1, told(found));
  CHECK(found.departures[0].rank == 1);
  CHECK(found.departures[0].iteration == 12);
}

TEST_CASE("Comparing: what half of the ranks do now and then is noise") {
  SpmdJob job;
  job.iterations = 60;
  std::mt19937 random(3);
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    for (int n = 0; n < 4; ++n) {
      job.extras.push_back({rank, static_cast<int>(random() % 60), "prefetch queue is low", {}});
    }
  }
  CHECK_MESSAGE(compare(job).departures.empty(), told(compare(job)));
}

TEST_CASE("Comparing: while ranks run, the last iteration is open") {
  SpmdJob job;
  job.ended = false;
  job.dies_after[3] = 39;  // one iteration behind
  job.left_out.push_back({2, 39, "memory", {}});
  CHECK_MESSAGE(compare(job).departures.empty(), told(compare(job)));
  job.dies_after[3] = 30;
  CHECK(compare(job).departures.size() == 1);
}

TEST_CASE("Comparing: one planted departure is found, and healthy jobs have none") {
  int found_first = 0, jobs = 0, alarms = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    SpmdJob job = random_job(random);
    const Comparison clean = compare(job);
    if (!clean.departures.empty()) ++alarms;
    if (!clean.departures.empty()) MESSAGE("seed " << seed << ": " << told(clean));
    const auto rank = static_cast<std::int32_t>(random() % static_cast<unsigned>(job.ranks));
    const int at = 1 + static_cast<int>(random() % static_cast<unsigned>(job.iterations - 1));
    switch (random() % 3) {
      case 0: job.extras.push_back({rank, at, "unexpected event in bucket", Severity::info}); break;
      case 1: job.left_out.push_back({rank, at, "memory", {}}); break;
      default:
        if (job.stages > 1) {
          job.extras.push_back({rank, at, "cache flushed twice", Severity::warning});
        } else {
          job.corrupt.push_back({rank, at, at, 0.01});
        }
    }
    ++jobs;
    const Comparison planted = compare(job);
    const bool right = planted.departures.size() == 1 && planted.departures[0].rank == rank &&
                       planted.departures[0].iteration == at;
    if (right) ++found_first;
    if (!right) {
      MESSAGE("seed " << seed << " rank " << rank << " at " << at << ": " << told(planted));
    }
  }
  // A quiet line of rank 0 at a round iteration is taken for what it says for all.
  CHECK(found_first >= jobs - 1);
  CHECK(alarms == 0);
}

TEST_CASE("Comparing: how blocks were cut changes nothing") {
  SpmdJob job;
  job.extras.push_back({5, 17, "retrying batch", Severity::warning});
  job.left_out.push_back({1, 8, "memory", {}});
  job.corrupt = {{2, 12, 12, 0.5}, {6, 30, 39, 7}};
  job.slow.push_back({4, 25, 25, 1.5});
  const std::string whole = told(compare(job));
  for (const std::size_t lines : {3u, 7u, 50u}) {
    job.block_lines = lines;
    CHECK(told(compare(job)) == whole);
  }
}

}  // namespace logarithm::aggregator
