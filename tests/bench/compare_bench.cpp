#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "aggregator/compare/comparison.h"
#include "common/async/worker_pool.h"
#include "tests/support/spmd_job.h"

// compare over 512 ranks x 2,000 stored lines, warm: blocks in memory, the CPU of the whole process
// from the fold's beginning to the verdict. `compare_bench RANKS` for another number of them,
// `compare_bench seeds N` for how often one planted departure is found, and healthy jobs have none,
// `compare_bench pairs N` for two that have nothing to do with each other, beside times and noise.
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
      const auto kind = static_cast<unsigned>(random() % 3);
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

// Two ranks whose loss is wrong, each at its own iteration and in its own way; a time that one rank
// needs longer for; and, in jobs of their own, numbers that agree but for now and then.
int run_pairs(unsigned seeds) {
  WorkerPool pool(1);
  unsigned found = 0, slow = 0, noisy = 0;
  pool.run_and_wait([&](BlockingToken& token) {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      std::mt19937 random(seed);
      test::SpmdJob job = random_job(random);
      job.stages = 1;
      const auto departing = [&] {
        JobView view(JobKey{"default", "spmd"}, job.make());
        auto made = compare(token, view);
        std::set<std::pair<std::int32_t, std::int64_t>> out;
        if (!made.ok()) return out;
        for (const Told& told : made->departures)
          out.emplace(told.rank, told.iteration.value_or(-1));
        return out;
      };
      const auto ranks = static_cast<unsigned>(job.ranks);
      const auto a = static_cast<std::int32_t>(random() % ranks);
      const auto b = static_cast<std::int32_t>(
          (static_cast<unsigned>(a) + 1 + random() % (ranks - 1)) % ranks);
      // What is wrong for good from the beginning is a rank's nature.
      const bool lasts = random() % 2 == 0;
      const auto half = static_cast<unsigned>(job.iterations / 2);
      const int first =
          lasts ? 3 + static_cast<int>(random() % (half - 3)) : static_cast<int>(random() % half);
      const int then = first + 1 + static_cast<int>(random() % (half - 1));
      job.slow.push_back({a, then, then, 1.2});
      if (!departing().empty()) ++slow;
      job.slow.clear();
      job.corrupt.push_back({a, first, lasts ? job.iterations : first, 0.01});
      job.corrupt.push_back({b, then, random() % 2 == 0 ? then : job.iterations, 77});
      if (departing() == std::set<std::pair<std::int32_t, std::int64_t>>{{a, first}, {b, then}})
        ++found;
      job.corrupt.clear();
      job.noise = 1 + static_cast<unsigned>(random() % 50);
      if (!departing().empty()) ++noisy;
    }
    return 0;
  });
  std::printf("%u seeds: both found %u, times told %u, noise told %u\n", seeds, found, slow, noisy);
  return found * 100 >= seeds * 99 && slow == 0 ? 0 : 1;
}

}  // namespace
}  // namespace logarithm::aggregator

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "seeds") {
    return logarithm::aggregator::run_seeds(static_cast<unsigned>(std::atoi(argv[2])));
  }
  if (argc > 2 && std::string_view(argv[1]) == "pairs") {
    return logarithm::aggregator::run_pairs(static_cast<unsigned>(std::atoi(argv[2])));
  }
  return logarithm::aggregator::run(argc > 1 ? std::atoi(argv[1]) : 512);
}
