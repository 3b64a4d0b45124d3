#include "aggregator/compare/correlation.h"

#include <doctest/doctest.h>

#include <functional>

#include "aggregator/query/match_cache.h"
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

// The same lines as correlations read them.
std::vector<Mark> scan_marks(BlockingToken& token, JobView& view, const Params& params,
                             MarkLimits limits) {
  MarkScanner scanner(view, fold_plan(params), limits);
  std::vector<Mark> out;
  for (int turns = 0; turns < 100'000; ++turns) {
    ScanTurn turn;
    turn.max_rows = 100;
    auto state = scanner.next(token, turn, out);
    REQUIRE_MESSAGE(state.ok(), state.error().to_string());
    if (*state == ScanState::finished) return out;
  }
  FAIL("the scan does not end");
  return out;
}

std::string id_of(const QueryLine& line) {
  return line.join->stream_text + ":" + std::to_string(line.line.offset);
}

std::string id_of(const Mark& mark) {
  return mark.join->stream_text + ":" + std::to_string(mark.offset);
}

void check_same(const std::vector<Mark>& marks, const std::vector<QueryLine>& lines) {
  REQUIRE(marks.size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    REQUIRE(key_of(marks[i]) == key_of(lines[i]));
    REQUIRE(marks[i].iteration == lines[i].line.iteration);
    REQUIRE(rank_of(marks[i]) == rank_of(lines[i].line, *lines[i].join));
  }
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
  std::uint64_t passed_over = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const test::RandomJob job(seed);
    fold_on_worker([&](BlockingToken& token) {
      JobView view(JobKey{"default", "j"}, job.cut(seed));
      const Params &first = kQueries[random() % kQueries.size()],
                   &second = kQueries[random() % kQueries.size()];
      auto firsts = scan(token, view, first);
      const auto thens = scan(token, view, second);
      const CorrelateBy by = random() % 2 == 0 ? CorrelateBy::rank : CorrelateBy::host;
      Within within;
      if (random() % 2 == 0) {
        within.iterations = static_cast<std::int64_t>(random() % 4);
      } else {
        within.nanos = static_cast<std::int64_t>(random() % 4) * 500'000'000;
      }
      MatchCache cache(1u << 20);
      MarkLimits limits;
      if (seed % 2 == 0) limits.cache = &cache;
      if (seed % 3 == 0) limits.memory = 20 * sizeof(Mark);
      std::vector<Mark> early, late;
      // Asked again, the cache knows.
      for (int again = 0; again < 2; ++again) {
        early = scan_marks(token, view, first, limits);
        late = scan_marks(token, view, second, limits);
        check_same(early, firsts);
        check_same(late, thens);
      }
      if (seed % 2 == 0) CHECK(cache.hits() >= cache.misses());
      // First lines of one stream have few ranks and hosts.
      if (!firsts.empty() && (by == CorrelateBy::host || random() % 2 == 0)) {
        const std::size_t one = firsts[random() % firsts.size()].join->stream;
        std::erase_if(firsts, [&](const QueryLine& line) { return line.join->stream != one; });
        std::erase_if(early, [&](const Mark& mark) { return mark.join->stream != one; });
      }
      Correlation correlation(view, by, within, 100'000);
      // Second lines may only be counted where none can be paired.
      {
        limits.cache = nullptr;
        auto strangers = correlation.strangers_to(early);
        MarkScanner scanner(view, fold_plan(second), limits);
        scanner.give_only([&](const StreamJoin& join) { return !strangers(join); },
                          within.iterations.has_value());
        std::vector<Mark> fewer;
        auto state = scanner.next(token, {}, fewer);
        REQUIRE((state.ok() && *state == ScanState::finished));
        CHECK(fewer.size() + scanner.counted() == late.size());
        passed_over += scanner.counted();
        late = std::move(fewer);
        correlation.count_thens(scanner.counted());
      }
      std::size_t a = 0, b = 0;
      while (a < early.size() || b < late.size()) {
        const bool then =
            b < late.size() && (a == early.size() || key_of(late[b]) <= key_of(early[a]));
        if (then) {
          correlation.add_then(late[b++]);
        } else {
          REQUIRE(correlation.add_first(early[a++]).ok());
        }
      }
      std::set<std::string> found;
      for (const CorrelatedPair& pair : correlation.take_pairs()) {
        found.insert(id_of(pair.first) + " " + id_of(pair.then));
      }
      CHECK(found == reference(firsts, thens, by, within));
      CHECK(correlation.pairs() == found.size());
      CHECK(correlation.firsts() == firsts.size());
      CHECK(correlation.thens() == thens.size());
      std::uint64_t keyless = 0, timeless = 0;
      for (const std::vector<QueryLine>& side : {std::cref(firsts), std::cref(thens)}) {
        for (const QueryLine& line : side) {
          const bool has_key = key_of_line(line, by).value_or("") != "";
          if (!has_key) ++keyless;
          if (has_key && within.iterations && !line.line.iteration) ++timeless;
        }
      }
      CHECK(correlation.without_key() == keyless);
      CHECK(correlation.without_iteration() == timeless);
    });
  }
  CHECK(passed_over > 50);
}

TEST_CASE("MatchCache: the least recently asked questions go first, and the bound holds") {
  test::RandomJob job(7);
  MatchCache cache(100'000);
  const auto marks = std::make_shared<const std::vector<RowMark>>(10);
  const JobKey key{"default", "j"};
  MatchCache::BlockKey block;
  const auto first = cache.open(key, "first");
  cache.add(first, block, marks);
  CHECK(cache.find(first, block) == marks);
  for (int i = 0; i < 1000; ++i) {
    const auto other = cache.open(key, "other " + std::to_string(i));
    for (block.first = 0; block.first < 10; ++block.first) cache.add(other, block, marks);
    REQUIRE(cache.bytes() <= 100'000);
  }
  block.first = 0;
  CHECK(cache.find(cache.open(key, "first"), block) == nullptr);
  CHECK(cache.find(cache.open(key, "other 999"), block) == marks);
  // One question does not push out all others.
  const auto large = cache.open(key, "large");
  cache.add(large, block, std::make_shared<const std::vector<RowMark>>(10'000));
  CHECK(cache.find(large, block) == nullptr);
  CHECK(cache.find(cache.open(key, "other 999"), block) == marks);
}

TEST_CASE("block_question: what a stream's own attributes decide is no part of it") {
  StreamJoin join;
  StreamAttributes attributes;
  const std::string job = "j";
  attributes.host = "n1";
  join.attributes = &attributes;
  join.job = &job;
  join.rank = 3;
  join.rank_is_fixed = true;
  const auto question = [&](const char* query) {
    return block_question(fold_plan({{"query", query}}).predicate, join);
  };
  const auto plain = question(R"(|= "batch")");
  REQUIRE(plain);
  CHECK(question(R"({rank="3",host="n1"} |= "batch")") == plain);
  CHECK(question(R"({rank="4"} |= "batch")") != plain);
  CHECK(question(R"(|= "batch" | loss > 2)") != plain);
  CHECK(question(R"(| loss > 2)") != question(R"(| loss > 2.5)"));
  CHECK(question(R"(| loss > 2)") != question(R"(| loss >= 2)"));
  CHECK(question(R"(|~ "batch")") != plain);
  CHECK(question(R"(!= "batch")") != plain);
  CHECK_FALSE(question(R"({iteration="3"} |= "batch")"));
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
