#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>

#include "aggregator/compare/comparison.h"
#include "common/async/worker_pool.h"
#include "tests/support/spmd_job.h"

// compare over 512 ranks x 2,000 stored lines, warm: blocks in memory, the CPU of the whole process
// from the fold's beginning to the verdict. `compare_bench RANKS` for another number of them,
// `compare_bench seeds N` for how often one planted departure is found, and healthy jobs have none.
// Exit 1 when it is not found, or past the bar.
namespace logarithm::aggregator {
namespace {

constexpr double kBarSeconds = 2.0;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<Comparison> compare(BlockingToken& token, JobView& view) {
  RankSurvey survey(view, 0);
  Fold fold(view, ScanPlan(), survey);
  const auto never = [] { return false; };
  LGR_TRY(ScanState state, fold.next(token, never));
  if (state != ScanState::finished) return Error(ErrorCode::timeout, "fold");
  Comparing comparing(survey, PeerRule(), 100);
  LGR_TRY(bool done, comparing.step(token, view, never));
  if (!done) return Error(ErrorCode::timeout, "compare");
  return std::move(comparing.result());
}

int run(std::int32_t ranks) {
  test::SpmdJob job;
  job.ranks = ranks;
  job.iterations = 500;  // 4 lines an iteration
  job.block_lines = 2100;
  job.extras.push_back({ranks / 2, 217, "retrying batch from slow shard", Severity::warning});
  const auto snapshot = job.make();
  WorkerPool pool(1);
  return pool.run_and_wait([&](BlockingToken& token) {
    int failures = 0;
    for (int turn = 0; turn < 3; ++turn) {
      const double before = cpu_seconds();
      JobView view(JobKey{"default", "spmd"}, snapshot);
      auto found = compare(token, view);
      const double seconds = cpu_seconds() - before;
      const bool right = found.ok() && found->departures.size() == 1 &&
                         found->departures[0].rank == ranks / 2 &&
                         found->departures[0].iteration == 217;
      std::printf("compare %d ranks x 2000 lines: %.3f s CPU (bar %.1f) %s\n", ranks, seconds,
                  kBarSeconds, right ? "found" : "NOT FOUND");
      if (!right || (turn > 0 && seconds > kBarSeconds)) ++failures;
    }
    return failures == 0 ? 0 : 1;
  });
}

test::SpmdJob random_job(std::mt19937& random) {
  test::SpmdJob job;
  job.ranks = 8 << (random() % 4);
  job.iterations = 20 + static_cast<int>(random() % 100);
  job.stages = random() % 3 == 0 ? 4 : 1;
  job.block_lines = 100 + random() % 400;
  return job;
}

int run_seeds(unsigned seeds) {
  WorkerPool pool(1);
  unsigned found = 0, alarms = 0;
  pool.run_and_wait([&](BlockingToken& token) {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      std::mt19937 random(seed);
      test::SpmdJob job = random_job(random);
      const auto verdict = [&] {
        JobView view(JobKey{"default", "spmd"}, job.make());
        auto made = compare(token, view);
        return made.ok() ? std::move(*made) : Comparison();
      };
      if (!verdict().departures.empty()) ++alarms;
      const auto rank = static_cast<std::int32_t>(random() % static_cast<unsigned>(job.ranks));
      const int at = static_cast<int>(random() % static_cast<unsigned>(job.iterations));
      const unsigned kind = random() % 3;
      if (kind == 0) job.extras.push_back({rank, at, "unexpected event in bucket", Severity::info});
      if (kind == 1) job.left_out.push_back({rank, at, "memory", {}});
      if (kind == 2 && job.stages == 1) job.corrupt.push_back({rank, at, at, 0.01});
      if (kind == 2 && job.stages > 1) job.left_out.push_back({rank, at, "forward", {}});
      const Comparison planted = verdict();
      const bool right = planted.departures.size() == 1 && planted.departures[0].rank == rank &&
                         planted.departures[0].iteration == at;
      if (right) ++found;
      if (!right) std::printf("seed %u: rank %d at %d, kind %u, not found\n", seed, rank, at, kind);
    }
    return 0;
  });
  std::printf("%u seeds: found %u, false alarms %u\n", seeds, found, alarms);
  return found * 100 >= seeds * 99 && alarms * 100 <= seeds ? 0 : 1;
}

}  // namespace
}  // namespace logarithm::aggregator

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "seeds") {
    return logarithm::aggregator::run_seeds(static_cast<unsigned>(std::atoi(argv[2])));
  }
  return logarithm::aggregator::run(argc > 1 ? std::atoi(argv[1]) : 512);
}
