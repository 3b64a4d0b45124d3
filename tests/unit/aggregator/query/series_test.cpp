#include "aggregator/query/series.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct PlainPoint {
  double value;
  OrderKey key;
};
using PlainSeries =
    std::map<SeriesKey, std::map<std::optional<std::int64_t>, std::vector<PlainPoint>>>;

// NaN equals NaN.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

void check_bucket(const SeriesBucket& bucket, const std::vector<PlainPoint>& points) {
  CHECK(bucket.count == points.size());
  double min = kNan, max = kNan;
  long double sum = 0;
  std::uint64_t nan = 0;
  const PlainPoint* last = &points.front();
  for (const PlainPoint& point : points) {
    if (std::isnan(point.value)) ++nan;
    if (!std::isnan(point.value) && !(min <= point.value)) min = point.value;
    if (!std::isnan(point.value) && !(max >= point.value)) max = point.value;
    sum += point.value;
    if (!(point.key < last->key)) last = &point;
  }
  CHECK(bucket.nan == nan);
  CHECK(same(bucket.min, min));
  CHECK(same(bucket.max, max));
  CHECK(same(bucket.last, last->value));
  const auto mean = static_cast<double>(sum / static_cast<long double>(points.size()));
  const bool near =
      std::isfinite(mean) && std::fabs(bucket.mean() - mean) <= 1e-12 * std::fabs(mean);
  CHECK((same(bucket.mean(), mean) || near));
}

PlainSeries plain_series(const test::RandomJob& job, const JobView& view, const ScanPlan& plan,
                         const std::vector<std::string>& metrics) {
  PlainSeries out;
  each_line(job, view, plan, [&](const Line& line, const StreamJoin& join) {
    for (const MetaPair& pair : line.meta) {
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        if (!pair.point || pair.key != metrics[m]) continue;
        SeriesKey key;
        key.metric = m;
        key.attempt = join.attempt;
        key.rank = rank_of(line, join);
        if (!key.rank) key.stream = join.facts->id;
        const auto* integer = std::get_if<std::int64_t>(&pair.value);
        const double value = integer ? static_cast<double>(*integer) : std::get<double>(pair.value);
        out[key][line.iteration].push_back({value, {line.time, join.facts->id, line.offset}});
      }
    }
  });
  return out;
}

std::int64_t floor_index(std::int64_t value, std::int64_t step) {
  return value / step - (value % step < 0 ? 1 : 0);
}

ScanPlan metric_plan(const ScanPlan& plan, const std::vector<std::string>& metrics) {
  ScanPlan out = plan;
  std::vector<Predicate> both;
  both.push_back(plan.predicate);
  both.push_back(has_metric(metrics));
  out.predicate = predicate::all_of(std::move(both));
  return out;
}

}  // namespace

TEST_CASE("SeriesFold: buckets equal a plain pass over all points, NaN kept") {
  fold_on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 250; ++seed) {
      CAPTURE(seed);
      const test::RandomJob job(seed);
      JobView view(JobKey{"default", "j"}, job.cut(seed));
      const ScanPlan plan = fold_plan(fold_query(seed));
      const std::vector<std::string> metrics =
          seed % 2 == 0 ? std::vector<std::string>{"loss"}
                        : std::vector<std::string>{"tokens", "loss", "none"};
      PlainSeries expected = plain_series(job, view, plan, metrics);
      std::optional<std::int64_t> step;
      if (seed % 4 == 0) step = 1 + seed % 7;
      const std::size_t wanted = 1 + seed % 9;
      SeriesFold fold(metrics, step, wanted);
      fold_all(token, view, metric_plan(plan, metrics), fold);
      REQUIRE(fold.series().size() == expected.size());

      // The step is the one that was asked for, else the least power of two that fits.
      std::optional<Interval> range;
      for (const auto& [key, by_iteration] : expected) {
        for (const auto& [iteration, points] : by_iteration) {
          if (!iteration) continue;
          if (!range) range = Interval{*iteration, *iteration};
          range->min = std::min(range->min, *iteration);
          range->max = std::max(range->max, *iteration);
        }
      }
      std::int64_t least = step.value_or(1);
      while (!step && range) {
        const auto first = floor_index(range->min, least), last = floor_index(range->max, least);
        const bool sides_of_zero = first == -1 && last == 0;
        if (last - first < static_cast<std::int64_t>(wanted) || sides_of_zero) break;
        least *= 2;
      }
      CHECK(fold.step() == least);

      for (const auto& [key, series] : fold.series()) {
        REQUIRE(expected.contains(key));
        std::map<std::int64_t, std::vector<PlainPoint>> buckets;
        std::vector<PlainPoint> apart;
        std::optional<std::int64_t> first_nan;
        for (const auto& [iteration, points] : expected[key]) {
          auto& into = iteration ? buckets[floor_index(*iteration, least) * least] : apart;
          into.insert(into.end(), points.begin(), points.end());
          for (const PlainPoint& point : points) {
            if (iteration && std::isnan(point.value) && !first_nan) first_nan = iteration;
          }
        }
        CHECK(series.first_nan == first_nan);
        CHECK(series.apart.count == apart.size());
        if (!apart.empty()) check_bucket(series.apart, apart);
        REQUIRE(series.buckets.size() == buckets.size());
        for (const auto& [start, points] : buckets) check_bucket(series.buckets.at(start), points);
      }
    }
  });
}

TEST_CASE("SeriesFold: how the lines were cut into blocks changes no bit") {
  fold_on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      const test::RandomJob job(seed);
      std::vector<std::vector<std::uint64_t>> answers;
      for (const unsigned cut : {seed, seed + 1000}) {
        JobView view(JobKey{"default", "j"}, job.cut(cut));
        SeriesFold fold({"loss", "lr"}, std::nullopt, 3);
        fold_all(token, view, metric_plan(fold_plan({}), {"loss", "lr"}), fold);
        auto& answer = answers.emplace_back();
        answer.push_back(static_cast<std::uint64_t>(fold.step()));
        for (const auto& [key, series] : fold.series()) {
          for (const auto& [start, bucket] : series.buckets) {
            answer.push_back(static_cast<std::uint64_t>(start));
            for (const double value : {bucket.min, bucket.max, bucket.mean(), bucket.last}) {
              answer.push_back(std::bit_cast<std::uint64_t>(value));
            }
          }
        }
      }
      CHECK(answers[0] == answers[1]);
    }
  });
}

TEST_CASE("SeriesFold: blocks without the metric are not decoded") {
  fold_on_worker([](BlockingToken& token) {
    const test::RandomJob job(3);
    auto stored = job.cut(3);
    JobView view(JobKey{"default", "j"}, stored);
    SeriesFold fold({"absent"}, std::nullopt, 10);
    fold_all(token, view, metric_plan(fold_plan({}), {"absent"}), fold);
    CHECK(fold.series().empty());
    CHECK(stored->blocks_read == 0);
  });
}

TEST_CASE("SeriesFold: iterations at both ends of their range end in few buckets") {
  SeriesFold fold({"loss"}, std::nullopt, 4);
  StreamFacts facts;
  StreamAttributes attributes;
  StreamJoin join;
  join.facts = &facts;
  join.attributes = &attributes;
  join.rank = 0;
  Line line;
  line.meta.push_back({"loss", 1.0, true});
  for (const std::int64_t iteration : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                       std::numeric_limits<std::int64_t>::max()}) {
    line.iteration = iteration;
    REQUIRE(fold.take(line, join, BlockRef()).ok());
  }
  CHECK(fold.points() == 3);
  CHECK(fold.series().begin()->second.buckets.size() <= 4);
}

}  // namespace logarithm::aggregator
