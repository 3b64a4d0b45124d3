#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "aggregator/compare/comparison.h"
#include "common/async/worker_pool.h"
#include "tests/support/spmd_job.h"

// compare over 512 ranks x 2,000 stored lines, warm: blocks in memory, the CPU of the whole process
// from the fold's beginning to the verdict. With an argument: the number of ranks.
// One line of text; exit 1 when the planted departure is not what is found, or past the bar.
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

}  // namespace
}  // namespace logarithm::aggregator

int main(int argc, char** argv) {
  return logarithm::aggregator::run(argc > 1 ? std::atoi(argv[1]) : 512);
}
