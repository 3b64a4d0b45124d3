#include "aggregator/query/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aggregator/query/line_buckets.h"

namespace logarithm::aggregator {

Predicate has_metric(const std::vector<std::string>& metrics) {
  std::vector<Predicate> any;
  for (const std::string& metric : metrics) {
    Predicate absent = predicate::string_equal(FieldRef{Field::meta, metric}, "");
    any.push_back(predicate::negation(std::move(absent)));
  }
  return predicate::any_of(std::move(any));
}

std::optional<std::size_t> point_of(const MetaPair& pair, const std::vector<std::string>& metrics) {
  if (!pair.point || std::holds_alternative<std::string>(pair.value)) return std::nullopt;
  const auto at = std::find(metrics.begin(), metrics.end(), pair.key);
  if (at == metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(at - metrics.begin());
}

void SeriesBucket::add(double value, const OrderKey& key) {
  SeriesBucket one;
  one.count = 1;
  one.nan = std::isnan(value) ? 1 : 0;
  one.min = one.max = one.last = value;
  one.last_key = key;
  one.sum = value;
  add(one);
}

void SeriesBucket::add(const SeriesBucket& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  // fmin and fmax give the number when the other one is NaN.
  min = std::fmin(min, other.min);
  max = std::fmax(max, other.max);
  if (last_key < other.last_key || last_key == other.last_key) {
    last = other.last;
    last_key = other.last_key;
  }
  count += other.count;
  nan += other.nan;
  sum += other.sum;
}

bool SeriesFold::too_many() const {
  if (held_ > kMaxBuckets) return true;
  const std::int64_t first = bucket_start(range_->min, step_) / step_;
  const std::int64_t last = bucket_start(range_->max, step_) / step_;
  // The two sides of zero never become one bucket.
  if (first == -1 && last == 0) return false;
  return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) >= wanted_;
}

void SeriesFold::double_step() {
  step_ *= 2;
  held_ = 0;
  for (auto& [key, series] : series_) {
    std::map<std::int64_t, SeriesBucket> wider;
    for (const auto& [start, bucket] : series.buckets) {
      wider[bucket_start(start, step_)].add(bucket);
    }
    series.buckets = std::move(wider);
    held_ += series.buckets.size();
  }
}

Status SeriesFold::add(Series& series, std::int64_t iteration, double value, const OrderKey& key) {
  if (!range_) range_ = Interval{iteration, iteration};
  range_->min = std::min(range_->min, iteration);
  range_->max = std::max(range_->max, iteration);
  auto [at, fresh] = series.buckets.try_emplace(bucket_start(iteration, step_));
  at->second.add(value, key);
  if (fresh) ++held_;
  if (std::isnan(value))
    series.first_nan = std::min(series.first_nan.value_or(iteration), iteration);
  if (fixed_) {
    if (held_ <= kMaxBuckets) return {};
    return Error(ErrorCode::invalid,
                 "more than " + std::to_string(kMaxBuckets) + " buckets; enlarge the step");
  }
  while (too_many() && step_ <= std::numeric_limits<std::int64_t>::max() / 4) double_step();
  return {};
}

Status SeriesFold::take(const Line& line, const StreamJoin& join, const BlockRef&) {
  for (const MetaPair& pair : line.meta) {
    const auto metric = point_of(pair, metrics_);
    if (!metric) continue;
    const auto* integer = std::get_if<std::int64_t>(&pair.value);
    const double value =
        integer != nullptr ? static_cast<double>(*integer) : std::get<double>(pair.value);
    SeriesKey key;
    key.metric = *metric;
    key.attempt = join.attempt;
    key.rank = rank_of(line, join);
    if (!key.rank) key.stream = join.facts->id;
    auto [at, fresh] = series_.try_emplace(key);
    if (fresh && series_.size() > kMaxSeries) {
      return Error(ErrorCode::invalid, "more than " + std::to_string(kMaxSeries) +
                                           " series; narrow by rank or attempt");
    }
    ++points_;
    const OrderKey place{line.time, join.facts->id, line.offset};
    if (!line.iteration) {
      at->second.apart.add(value, place);
    } else {
      LGR_CHECK(add(at->second, *line.iteration, value, place));
    }
  }
  return {};
}

}  // namespace logarithm::aggregator
