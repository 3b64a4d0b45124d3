#include "aggregator/query/line_buckets.h"

#include <limits>
#include <map>

#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

using Key = LineBuckets::Key;

constexpr BucketBy kAll[] = {BucketBy::time,       BucketBy::iteration, BucketBy::rank,
                             BucketBy::host,       BucketBy::severity,  BucketBy::callsite,
                             BucketBy::template_id};

std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  std::int64_t start = value / step * step;
  return start > value ? start - step : start;
}

Key text_key(std::string_view text) { return text.empty() ? Key() : Key(std::string(text)); }

Key plain_key(BucketBy by, std::int64_t step, const Line& line, const StreamJoin& join) {
  switch (by) {
    case BucketBy::time: return floor_to(line.time, step);
    case BucketBy::iteration: return line.iteration ? Key(floor_to(*line.iteration, step)) : Key();
    case BucketBy::rank: {
      const auto rank = rank_of(line, join);
      return rank ? Key(std::int64_t{*rank}) : Key();
    }
    case BucketBy::host: return text_key(join.attributes->host);
    case BucketBy::severity:
      return line.severity == Severity::unset ? Key()
                                              : Key(static_cast<std::int64_t>(line.severity));
    case BucketBy::callsite: return text_key(line.callsite);
    case BucketBy::template_id: return static_cast<std::int64_t>(line.template_id);
  }
  return Key();
}

}  // namespace

TEST_CASE("LineBuckets: counts equal a plain pass over all lines, for every key and query") {
  fold_on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
      CAPTURE(seed);
      const test::RandomJob job(seed);
      JobView view(JobKey{"default", "j"}, job.cut(seed + 1));
      const ScanPlan plan = fold_plan(fold_query(seed));
      for (const BucketBy by : kAll) {
        CAPTURE(to_string(by));
        std::int64_t step = by == BucketBy::time ? 1'000'000'000 : 4;
        if (seed % 3 == 0) step = by == BucketBy::time ? 3600'000'000'000 : 1000;
        std::map<Key, std::uint64_t> expected;
        std::uint64_t total = 0;
        each_line(job, view, plan, [&](const Line& line, const StreamJoin& join) {
          ++expected[plain_key(by, step, line, join)];
          ++total;
        });
        LineBuckets buckets(by, step);
        fold_all(token, view, plan, buckets);
        const auto answer = buckets.answer(SIZE_MAX);
        std::map<Key, std::uint64_t> got;
        for (const auto& bucket : answer.buckets) got[bucket.key] = bucket.count;
        CHECK(got == expected);
        CHECK(got.size() == answer.buckets.size());
        CHECK(answer.total == total);
        CHECK(answer.other == 0);

        const auto short_answer = buckets.answer(2);
        CHECK(short_answer.buckets.size() == std::min<std::size_t>(2, expected.size()));
        std::uint64_t shown = 0;
        for (const auto& bucket : short_answer.buckets) shown += bucket.count;
        CHECK(shown + short_answer.other == total);
        CHECK(short_answer.buckets.size() + short_answer.other_buckets == expected.size());
      }
    }
  });
}

TEST_CASE("LineBuckets: times ascend, call sites come by frequency, none last") {
  LineBuckets sites(BucketBy::callsite, 1), ranks(BucketBy::rank, 1);
  StreamAttributes attributes;
  StreamJoin join;
  join.attributes = &attributes;
  Line line;
  const char* const kSites[] = {"b.py:1", "a.py:1", "", "c.py:1", "c.py:1", "c.py:1"};
  for (const char* site : kSites) {
    line.callsite = site;
    REQUIRE(sites.take(line, join, BlockRef()).ok());
  }
  const auto answer = sites.answer(10).buckets;
  REQUIRE(answer.size() == 4);
  CHECK(answer[0].key == Key("c.py:1"));
  CHECK(answer[1].key == Key("a.py:1"));
  CHECK(answer[2].key == Key("b.py:1"));
  CHECK(answer[3].key == Key());
  for (const std::int32_t rank : {7, 3, -1}) {
    line.wrapper_rank = rank < 0 ? std::nullopt : std::optional<std::int32_t>(rank);
    REQUIRE(ranks.take(line, join, BlockRef()).ok());
  }
  const auto by_rank = ranks.answer(10).buckets;
  REQUIRE(by_rank.size() == 3);
  CHECK(by_rank[0].key == Key(std::int64_t{3}));
  CHECK(by_rank[2].key == Key());
}

TEST_CASE("LineBuckets: a block that lies in one bucket is counted without being decoded") {
  fold_on_worker([](BlockingToken& token) {
    const test::RandomJob job(5);
    auto stored = job.cut(6);
    JobView view(JobKey{"default", "j"}, stored);
    for (const BucketBy by : {BucketBy::time, BucketBy::host}) {
      LineBuckets buckets(by, 3600'000'000'000);
      fold_all(token, view, fold_plan({}), buckets);
      CHECK(stored->blocks_read == 0);
    }
    LineBuckets buckets(BucketBy::callsite, 1);
    fold_all(token, view, fold_plan({{"rank", "77"}}), buckets);
    CHECK(buckets.answer(10).total == 0);
  });
}

TEST_CASE("bucket_start: the multiple at or below, also of negative and extreme numbers") {
  CHECK(bucket_start(17, 5) == 15);
  CHECK(bucket_start(15, 5) == 15);
  CHECK(bucket_start(-1, 5) == -5);
  CHECK(bucket_start(-5, 5) == -5);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(bucket_start(least, 1'000'000'007) == least);
  CHECK(bucket_start(least, most / 4) == least);
  CHECK(bucket_start(most, most / 4) <= most);
  CHECK(bucket_start(least, 1) == least);
}

TEST_CASE("nice_step: steps that people like, about as many buckets as wanted") {
  const std::int64_t second = 1'000'000'000;
  CHECK(nice_step(BucketBy::iteration, 0, 99, 100) == 1);
  CHECK(nice_step(BucketBy::iteration, 0, 1234, 100) == 20);
  CHECK(nice_step(BucketBy::time, 0, 0, 100) == 1);
  CHECK(nice_step(BucketBy::time, 0, 1234, 100) == 20);
  CHECK(nice_step(BucketBy::time, 0, 1000 * second, 100) == 10 * second);
  CHECK(nice_step(BucketBy::time, 0, 86'400 * second, 100) == 900 * second);
  CHECK(nice_step(BucketBy::time, 0, 365 * 86'400 * second, 100) == 5 * 86'400 * second);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const BucketBy by : {BucketBy::time, BucketBy::iteration}) {
    CHECK(nice_step(by, least, most, 100) > most / 100);
  }
}

TEST_CASE("Fold: a damaged block is left out whole and noted") {
  fold_on_worker([](BlockingToken& token) {
    auto job = std::make_shared<test::FakeJob>();
    StreamAttributes attributes;
    attributes.name = "stdout";
    const std::size_t stream = job->add_stream(StreamId{StreamBase{1, 1}, 0}, {attributes});
    std::uint64_t offset = 0;
    for (int b = 0; b < 3; ++b) {
      std::vector<Line> lines;
      for (int i = 0; i < 10; ++i) {
        lines.push_back(test::make_line(offset, i, "x step"));
        lines.back().callsite = i % 2 == 0 ? "a:1" : "b:2";
        offset = lines.back().end();
      }
      job->add_block(stream, 0, lines);
    }
    job->damage_block(1, job->block_size(1) - 3);
    JobView view(JobKey{"default", "j"}, job);
    LineBuckets buckets(BucketBy::callsite, 1);
    fold_all(token, view, fold_plan({}), buckets);
    CHECK(buckets.answer(10).total == 20);
    CHECK(view.damage().lines == 10);
  });
}

}  // namespace logarithm::aggregator
