#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/query/fold.h"

namespace logarithm::aggregator {

// Lines that have a number named so in their metadata. ANDed to a plan it prunes the blocks that
// have none.
Predicate has_metric(const std::vector<std::string>& metrics);

// Is `pair` a telemetry point of one of `metrics`? Its index.
std::optional<std::size_t> point_of(const MetaPair& pair, const std::vector<std::string>& metrics);

// What became of a metric on one rank in one attempt. Without a known rank every stream is apart:
// two unknown ranks need not be the same one.
struct SeriesKey {
  std::size_t metric = 0;  // index into the metrics asked for
  std::optional<std::int32_t> attempt, rank;
  std::optional<StreamId> stream;  // only without a rank
  auto operator<=>(const SeriesKey&) const = default;
};

// The points of one bucket of iterations.
struct SeriesBucket {
  std::uint64_t count = 0, nan = 0;
  double min = 0, max = 0;  // NaN left aside; NaN when there is nothing else
  double last = 0;          // by (time, stream, offset)
  OrderKey last_key;
  long double sum = 0;  // NaN as soon as one value is

  double mean() const { return static_cast<double>(sum / static_cast<long double>(count)); }
  void add(double value, const OrderKey& key);
  void add(const SeriesBucket& other);
};

struct Series {
  std::map<std::int64_t, SeriesBucket> buckets;  // by first iteration of the bucket
  SeriesBucket apart;                            // points without an iteration
  std::optional<std::int64_t> first_nan;         // iteration
};

// min, max, mean and last of metrics per bucket of iterations, one series per SeriesKey.
class SeriesFold final : public LineSink {
 public:
  static constexpr std::size_t kMaxSeries = 100'000;     // more: an Error
  static constexpr std::size_t kMaxBuckets = 1'000'000;  // held, of all series together

  // `step`: iterations of a bucket; more than kMaxBuckets are then an Error. Without one the step
  // is the smallest power of two by which all iterations lie in `wanted` buckets (and the whole
  // within kMaxBuckets): it depends on the points alone, not on their order.
  SeriesFold(std::vector<std::string> metrics, std::optional<std::int64_t> step, std::size_t wanted)
      : metrics_(std::move(metrics)), fixed_(step.has_value()), wanted_(wanted) {
    if (step) step_ = *step;
  }

  BlockPart parts() const override { return BlockPart::facts | BlockPart::fields; }
  const std::vector<std::string>* keys() const override { return &metrics_; }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;

  const std::vector<std::string>& metrics() const { return metrics_; }
  const std::map<SeriesKey, Series>& series() const { return series_; }
  std::int64_t step() const { return step_; }
  std::uint64_t points() const { return points_; }

 private:
  Status add(Series& series, std::int64_t iteration, double value, const OrderKey& key);
  bool too_many() const;
  void double_step();

  std::vector<std::string> metrics_;
  bool fixed_;
  std::size_t wanted_;
  std::int64_t step_ = 1;
  std::optional<Interval> range_;  // of the iterations seen
  std::size_t held_ = 0;           // buckets
  std::uint64_t points_ = 0;
  std::map<SeriesKey, Series> series_;
};

}  // namespace logarithm::aggregator
