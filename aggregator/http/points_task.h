#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/http/json_text.h"
#include "aggregator/http/named.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/query/cursor.h"
#include "aggregator/query/scanner.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

struct PointsRequest {
  JobKey job;
  Named named;
  ScanPlan plan;  // lines that have one of `metrics`
  std::vector<std::string> metrics;
  std::uint64_t query_hash = 0;
  std::uint64_t limit = 1000;  // of points; those of one line stay together
  std::size_t memory = 256u << 20;
};

// Makes the JSON array of telemetry points, one page of it.
class PointsTask final : public QueryTask {
 public:
  PointsTask(Storage& storage, PointsRequest request)
      : storage_(storage), request_(std::move(request)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // After the end.
  std::string take_text() { return writer_.take(); }
  const std::optional<Cursor>& next() const { return next_; }
  const JobView& view() const { return *view_; }
  const Predicate& predicate() const { return request_.plan.predicate; }

 private:
  // Rows of one turn: they are decoded in full and thrown away when they are no points.
  static constexpr std::size_t kTurnRows = 1024;

  void write_points(const QueryLine& row);

  Storage& storage_;
  PointsRequest request_;
  std::unique_ptr<JobView> view_;
  std::unique_ptr<Scanner> scanner_;
  JsonWriter writer_;
  std::uint64_t written_ = 0;
  std::optional<OrderKey> last_;
  std::optional<Cursor> next_;
};

}  // namespace logarithm::aggregator
