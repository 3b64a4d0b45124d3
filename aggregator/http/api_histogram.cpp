#include <cstdio>

#include "aggregator/http/api.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/query/line_buckets.h"
#include "common/config/units.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kMaxShownBuckets = 10'000;
// Of a histogram whose step nobody gave, about.
constexpr std::int64_t kWantedBuckets = 100;

bool has_step(BucketBy by) { return by == BucketBy::time || by == BucketBy::iteration; }

Result<std::optional<std::int64_t>> read_step(const net::Request& request, BucketBy by) {
  std::optional<std::int64_t> out;
  const auto text = request.param("step");
  if (!text) return out;
  if (!has_step(by)) {
    return Error(ErrorCode::invalid, "step goes with by=time and by=iteration");
  }
  if (by == BucketBy::iteration) {
    LGR_TRY(const std::uint64_t step, number_param(request, "step", 1, 1, INT64_MAX / 4));
    out = static_cast<std::int64_t>(step);
    return out;
  }
  LGR_TRY(const std::chrono::nanoseconds step, config::parse_duration(*text));
  if (step.count() < 1) return Error(ErrorCode::invalid, "step is longer than nothing");
  out = step.count();
  return out;
}

class HistogramAnswer final : public FoldAnswer {
 public:
  HistogramAnswer(BucketBy by, std::optional<std::int64_t> step, std::uint64_t limit)
      : by_(by), step_(step), limit_(limit) {}

  Result<LineSink*> open(const JobView& view, const ScanPlan& plan) override {
    if (!step_) {
      const auto range = bucket_range(view, plan, by_);
      step_ = range ? nice_step(by_, range->min, range->max, kWantedBuckets) : 1;
    }
    buckets_ = std::make_unique<LineBuckets>(by_, *step_);
    return static_cast<LineSink*>(buckets_.get());
  }

  void write(JsonWriter& out) override {
    const LineBuckets::Answer answer = buckets_->answer(limit_);
    out.key("by").string(to_string(by_));
    if (by_ == BucketBy::time) {
      out.key("step").string(config::format_duration(std::chrono::nanoseconds(*step_)));
    } else if (has_step(by_)) {
      out.key("step").integer(*step_);
    }
    out.key("buckets").begin_array();
    for (const LineBuckets::Bucket& bucket : answer.buckets) {
      out.begin_object().key("key");
      write_key(out, bucket.key);
      out.key("count").count(bucket.count).end_object();
    }
    out.end_array();
    out.key("count").count(answer.total);
    out.key("other").count(answer.other).key("other_buckets").count(answer.other_buckets);
  }

 private:
  void write_key(JsonWriter& out, const LineBuckets::Key& key) const {
    if (const auto* text = std::get_if<std::string>(&key)) {
      out.string(*text);
      return;
    }
    const auto* number = std::get_if<std::int64_t>(&key);
    if (number == nullptr) {
      out.null();
    } else if (by_ == BucketBy::time) {
      out.time(*number);
    } else if (by_ == BucketBy::severity) {
      out.string(to_string(static_cast<Severity>(*number)));
    } else if (by_ == BucketBy::template_id) {
      char id[17];
      std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(*number));
      out.string(id);
    } else {
      out.integer(*number);
    }
  }

  BucketBy by_;
  std::optional<std::int64_t> step_;
  std::uint64_t limit_;
  std::unique_ptr<LineBuckets> buckets_;
};

}  // namespace

Api::Answer Api::histogram(Call call) {
  const net::Request& request = call.request;
  ScanPlan plan;
  if (auto refused = read_filters(request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  const auto by = parse_bucket_by(request.param("by").value_or("time"));
  if (!by) {
    co_return problem(400, "by is time, iteration, rank, host, severity, callsite or template",
                      std::nullopt, "by");
  }
  auto step = read_step(request, *by);
  if (!step.ok()) co_return problem(400, step.error().message(), std::nullopt, "step");
  auto limit = number_param(request, "limit", kMaxShownBuckets, 1, kMaxShownBuckets);
  if (!limit.ok()) co_return problem(400, limit.error().message(), std::nullopt, "limit");
  std::unique_ptr<FoldAnswer> answer = std::make_unique<HistogramAnswer>(*by, *step, *limit);
  auto folding = folded(std::move(call), std::move(plan), std::move(answer));
  co_return co_await std::move(folding);
}

}  // namespace logarithm::aggregator
