#include <algorithm>

#include "aggregator/http/api.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/points_task.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/series.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultSeriesBuckets = 200, kMaxSeriesBuckets = 10'000;
constexpr std::uint64_t kDefaultPoints = 1000, kMaxPoints = 10'000;
constexpr std::size_t kMaxMetrics = 100;

// `metric`, one or more (with commas, or repeated), ANDed to the plan's predicate.
std::optional<net::Response> read_metrics(const net::Request& request, ScanPlan& plan,
                                          std::vector<std::string>& metrics) {
  for (const auto& [name, value] : request.query) {
    if (name != "metric") continue;
    for (std::size_t from = 0; from < value.size();) {
      const std::size_t to = std::min(value.find(',', from), value.size());
      std::string metric = value.substr(from, to - from);
      from = to + 1;
      const bool known = std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
      if (!metric.empty() && !known) metrics.push_back(std::move(metric));
    }
  }
  if (metrics.size() > kMaxMetrics) {
    return problem(400, "at most " + std::to_string(kMaxMetrics) + " metrics", std::nullopt,
                   "metric");
  }
  if (metrics.empty()) {
    return problem(400, "metric is needed: a field with `points` in …/fields", std::nullopt,
                   "metric");
  }
  std::vector<Predicate> both;
  both.push_back(std::move(plan.predicate));
  both.push_back(has_metric(metrics));
  plan.predicate = predicate::all_of(std::move(both));
  return std::nullopt;
}

void write_bucket(JsonWriter& out, const SeriesBucket& bucket) {
  out.key("count").count(bucket.count).key("nan").count(bucket.nan);
  out.key("min").real(bucket.min).key("max").real(bucket.max);
  out.key("mean").real(bucket.mean()).key("last").real(bucket.last);
  out.key("last_time").time(bucket.last_key.time);
}

class SeriesAnswer final : public FoldAnswer {
 public:
  explicit SeriesAnswer(SeriesFold fold) : fold_(std::move(fold)) {}

  Result<LineSink*> open(const JobView&, const ScanPlan&) override {
    return static_cast<LineSink*>(&fold_);
  }

  void write(JsonWriter& out) override {
    out.key("step").integer(fold_.step());
    out.key("points").count(fold_.points());
    out.key("series").begin_array();
    for (const auto& [key, series] : fold_.series()) write_series(out, key, series);
    out.end_array();
  }

 private:
  void write_series(JsonWriter& out, const SeriesKey& key, const Series& series) const {
    out.begin_object().key("metric").string(fold_.metrics()[key.metric]);
    out.optional_integer("attempt", key.attempt);
    out.optional_integer("rank", key.rank);
    if (key.stream) out.key("stream_id").string(to_text(*key.stream));
    std::uint64_t count = series.apart.count, nan = series.apart.nan;
    for (const auto& [start, bucket] : series.buckets) {
      count += bucket.count;
      nan += bucket.nan;
    }
    out.key("count").count(count).key("nan").count(nan);
    out.optional_integer("first_nan", series.first_nan);
    out.key("buckets").begin_array();
    for (const auto& [start, bucket] : series.buckets) {
      out.begin_object().key("iteration").integer(start);
      write_bucket(out, bucket);
      out.end_object();
    }
    out.end_array();
    if (series.apart.count > 0) {
      out.key("without_iteration").begin_object();
      write_bucket(out, series.apart);
      out.end_object();
    }
    out.end_object();
  }

  SeriesFold fold_;
};

}  // namespace

Api::Answer Api::series(Call call) {
  const net::Request& request = call.request;
  ScanPlan plan;
  std::vector<std::string> metrics;
  if (auto refused = read_filters(request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  if (auto refused = read_metrics(request, plan, metrics)) co_return std::move(*refused);
  auto buckets = number_param(request, "buckets", kDefaultSeriesBuckets, 1, kMaxSeriesBuckets);
  if (!buckets.ok()) co_return problem(400, buckets.error().message(), std::nullopt, "buckets");
  auto steps = number_param(request, "step", 1, 1, INT64_MAX / 4);
  if (!steps.ok()) co_return problem(400, steps.error().message(), std::nullopt, "step");
  std::optional<std::int64_t> step;
  if (request.param("step")) step = static_cast<std::int64_t>(*steps);
  SeriesFold fold(std::move(metrics), step, *buckets);
  std::unique_ptr<FoldAnswer> answer = std::make_unique<SeriesAnswer>(std::move(fold));
  auto folding = folded(std::move(call), std::move(plan), std::move(answer));
  co_return co_await std::move(folding);
}

Api::Answer Api::points(Call call) {
  const net::Request& request = call.request;
  PointsRequest wanted;
  wanted.job = JobKey{call.tenant, call.capture};
  wanted.named = named_in(request);
  if (auto refused = read_filters(request, queries_.clock().wall_now(), wanted.plan)) {
    co_return std::move(*refused);
  }
  if (auto refused = read_metrics(request, wanted.plan, wanted.metrics)) {
    co_return std::move(*refused);
  }
  std::string about = "points of " + call.capture;
  for (const std::string& metric : wanted.metrics) about += '\0' + metric;
  wanted.query_hash = hash_query(about, request.query);
  auto limit = number_param(request, "limit", kDefaultPoints, 1, kMaxPoints);
  if (!limit.ok()) co_return problem(400, limit.error().message(), std::nullopt, "limit");
  wanted.limit = *limit;
  if (auto refused = read_direction(request, Direction::forward, wanted.plan)) {
    co_return std::move(*refused);
  }
  if (auto refused = read_cursor(request, wanted.query_hash, wanted.plan)) {
    co_return std::move(*refused);
  }
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  wanted.memory = queries_.options().memory;
  const JobKey job = wanted.job;
  auto task = std::make_shared<PointsTask>(storage_, std::move(wanted));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter out;
  out.begin_object().key("next");
  task->next() ? out.string(to_text(*task->next())) : out.null();
  out.key("completeness");
  write_completeness(out, completeness(job, task->view(), task->predicate()));
  out.end_object();
  net::Response response;
  // The points are the bulk: they go in as they are.
  response.body = "{\"points\":[" + task->take_text() + "]," + out.take().substr(1);
  co_return response;
}

}  // namespace logarithm::aggregator
