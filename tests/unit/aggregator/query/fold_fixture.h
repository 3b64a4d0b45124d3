#pragma once

#include <doctest/doctest.h>

#include <functional>

#include "aggregator/query/filters.h"
#include "aggregator/query/fold.h"
#include "aggregator/query/match.h"
#include "common/async/worker_pool.h"
#include "tests/support/random_job.h"

namespace logarithm::aggregator {

template <typename Test>
void fold_on_worker(Test test) {
  WorkerPool pool(1);
  pool.run_and_wait([&](BlockingToken& token) {
    test(token);
    return 0;
  });
}

inline ScanPlan fold_plan(const Params& params) {
  ParamProblem trouble;
  auto spec = parse_filters(params, 0, trouble);
  REQUIRE_MESSAGE(spec.ok(), trouble.parameter);
  ScanPlan plan;
  plan.predicate = std::move(spec->predicate);
  plan.start = spec->start;
  plan.end = spec->end;
  return plan;
}

// Nothing, or one of these.
inline Params fold_query(unsigned choice) {
  static const std::vector<Params> kQueries = {
      {},
      {},
      {{"rank", "1-2"}},
      {{"iteration", "3..12"}},
      {{"severity", "warning"}},
      {{"start", "1000005000000000"}, {"end", "1000012000000000"}},
      {{"query", R"({host="n1"} |= "batch")"}},
      {{"query", R"(| loss == NaN or lr > 3)"}},
      {{"attempt", "1"}, {"stream", "stdout"}},
      {{"not_callsite", "train.py:1"}, {"query", R"(!= "step")"}},
  };
  return kQueries[choice % kQueries.size()];
}

// Every line that the plan asks for, by looking at each; in (stream, offset) order.
inline void each_line(const test::RandomJob& job, const JobView& view, const ScanPlan& plan,
                      const std::function<void(const Line&, const StreamJoin&)>& each) {
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < job.streams.size(); ++s) order.push_back(s);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return job.streams[a].id < job.streams[b].id; });
  for (const std::size_t s : order) {
    for (const Line& line : job.streams[s].lines) {
      const StreamJoin& join = view.joins(s).front();
      const OrderKey key{line.time, job.streams[s].id, line.offset};
      Row row(line, join);
      if (in_plan(plan, key) && matches(plan.predicate, row)) each(line, join);
    }
  }
}

inline void fold_all(BlockingToken& token, JobView& view, const ScanPlan& plan, LineSink& sink) {
  Fold fold(view, plan, sink);
  int asked = 0;
  const auto time_is_up = [&] { return ++asked % 3 == 0; };
  for (int turns = 0; turns < 10'000; ++turns) {
    auto state = fold.next(token, time_is_up);
    REQUIRE_MESSAGE(state.ok(), state.error().to_string());
    if (*state == ScanState::finished) return;
  }
  FAIL("the fold does not end");
}

}  // namespace logarithm::aggregator
