#include "aggregator/compare/correlation.h"

#include <doctest/doctest.h>

#include "aggregator/query/scanner.h"
#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

std::vector<QueryLine> scan(BlockingToken& token, JobView& view, const Params& params) {
  ScanPlan plan = fold_plan(params);
  plan.direction = Direction::forward;
  Scanner scanner(view, plan, {});
  std::vector<QueryLine> out;
  auto state = scanner.next(token, {}, out);
  REQUIRE(state.ok());
  REQUIRE(*state == ScanState::finished);
  return out;
}

std::string id_of(const QueryLine& line) {
  return line.join->stream_text + ":" + std::to_string(line.line.offset);
}

std::optional<std::string> key_of_line(const QueryLine& line, CorrelateBy by) {
  if (by == CorrelateBy::host) return line.join->attributes->host;
  const auto rank = rank_of(line.line, *line.join);
  if (!rank) return std::nullopt;
  return std::to_string(*rank);
}

// For each first line the earliest second one, by looking at every pair.
std::set<std::string> reference(const std::vector<QueryLine>& firsts,
                                const std::vector<QueryLine>& thens, CorrelateBy by,
                                const Within& within) {
  std::set<std::string> out;
  for (const QueryLine& first : firsts) {
    const QueryLine* best = nullptr;
    for (const QueryLine& then : thens) {
      if (!(key_of(first) < key_of(then))) continue;
      if (!key_of_line(first, by) || key_of_line(first, by) != key_of_line(then, by)) continue;
      if (within.iterations) {
        if (!first.line.iteration || !then.line.iteration) continue;
        if (first.join->attempt != then.join->attempt) continue;
        const std::int64_t away = *then.line.iteration - *first.line.iteration;
        if (away < 0 || away > *within.iterations) continue;
      } else if (then.line.time - first.line.time > within.nanos) {
        continue;
      }
      if (best == nullptr || key_of(then) < key_of(*best)) best = &then;
    }
    if (best != nullptr) out.insert(id_of(first) + " " + id_of(*best));
  }
  return out;
}

}  // namespace

TEST_CASE("Correlation: equal to looking at every pair, in 200 random cases") {
  static const std::vector<Params> kQueries = {
      {{"query", R"(|= "batch")"}},    {{"query", R"(| loss > 20)"}},
      {{"query", R"(|= "step")"}},     {{"query", R"(| loss == NaN)"}},
      {{"severity", "warning"}},       {{"query", R"({callsite="train.py:1"})"}},
      {{"query", R"(| tokens >= 0)"}},
  };
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const test::RandomJob job(seed);
    fold_on_worker([&](BlockingToken& token) {
      JobView view(JobKey{"default", "j"}, job.cut(seed));
      const auto firsts = scan(token, view, kQueries[random() % kQueries.size()]);
      const auto thens = scan(token, view, kQueries[random() % kQueries.size()]);
      const CorrelateBy by = random() % 2 == 0 ? CorrelateBy::rank : CorrelateBy::host;
      Within within;
      if (random() % 2 == 0) {
        within.iterations = static_cast<std::int64_t>(random() % 4);
      } else {
        within.nanos = static_cast<std::int64_t>(random() % 4) * 500'000'000;
      }
      Correlation correlation(view, by, within, 100'000);
      std::size_t a = 0, b = 0;
      while (a < firsts.size() || b < thens.size()) {
        const bool then =
            b < thens.size() && (a == firsts.size() || key_of(thens[b]) <= key_of(firsts[a]));
        if (then) {
          correlation.add_then(thens[b++]);
        } else {
          REQUIRE(correlation.add_first(firsts[a++]).ok());
        }
      }
      std::set<std::string> found;
      for (const CorrelatedPair& pair : correlation.take_pairs()) {
        found.insert(id_of(pair.first) + " " + id_of(pair.then));
      }
      CHECK(found == reference(firsts, thens, by, within));
      CHECK(correlation.pairs() == found.size());
    });
  }
}

TEST_CASE("parse_within: iterations or a time") {
  CHECK(parse_within("2i")->iterations == 2);
  CHECK(parse_within("0i")->iterations == 0);
  CHECK(parse_within("30s")->nanos == 30'000'000'000);
  for (const char* bad : {"", "i", "-1i", "2", "2.5i", "soon", "99999999999999999999i"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_within(bad).ok());
  }
}

}  // namespace logarithm::aggregator
