#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/http/json_text.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/query/counter.h"
#include "aggregator/query/scanner.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

struct LinesRequest {
  JobKey job;
  ScanPlan plan;
  std::uint64_t query_hash = 0;
  std::optional<std::uint64_t> limit;  // absent: all
  bool ndjson = false;                 // lines as records, given piece by piece; else as one page
  std::size_t memory = 256u << 20;
  const Clock* clock = nullptr;  // with it, a long answer renews its snapshot
};

// A snapshot holds read transactions; a long answer goes on with a new one after this.
inline constexpr std::chrono::seconds kSnapshotAge{10};

// Makes the JSON of a lines answer: the lines only, without what surrounds them.
class LinesTask final : public QueryTask {
 public:
  LinesTask(Storage& storage, LinesRequest request);

  // For NDJSON true when a piece is there, for a page when it is whole.
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // Goes on from the last line, with a snapshot as of then.
  std::shared_ptr<void> park() override;

  // What was made since the last call: "{…},{…}" of a page, "{…}\n{…}\n" of records.
  std::string take_text() { return writer_.take(); }
  bool finished() const { return finished_; }
  // After the end: the cursor to go on with, absent when there is no more.
  const std::optional<Cursor>& next() const { return next_; }
  // After the first step() that did not fail.
  const JobView& view() const { return *view_; }
  const Predicate& predicate() const { return request_.plan.predicate; }

 private:
  // A page stops here, short of its limit; the cursor goes on.
  static constexpr std::size_t kMaxPageBytes = 64u << 20;
  static constexpr std::size_t kPieceBytes = 256u << 10;
  static constexpr std::size_t kPieceRows = 1024;

  Status open(BlockingToken& token);
  bool is_old() const;
  void end_with_cursor();

  Storage& storage_;
  LinesRequest request_;
  std::unique_ptr<JobView> view_;
  std::unique_ptr<Scanner> scanner_;
  JobView::Damage damage_;  // of the views before
  MonotonicTime opened_{};
  JsonWriter writer_;
  std::uint64_t written_ = 0;
  std::optional<OrderKey> last_;
  bool finished_ = false;
  std::optional<Cursor> next_;
};

// Counts; same rules.
class CountTask final : public QueryTask {
 public:
  CountTask(Storage& storage, JobKey job, ScanPlan plan)
      : storage_(storage), job_(std::move(job)), plan_(std::move(plan)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;
  std::uint64_t count() const { return counter_->count(); }
  const JobView& view() const { return *view_; }
  const Predicate& predicate() const { return counter_->predicate(); }

 private:
  Storage& storage_;
  JobKey job_;
  ScanPlan plan_;
  std::unique_ptr<JobView> view_;
  std::unique_ptr<Counter> counter_;
};

// A job's view; Error{not_found} names the job.
Result<std::unique_ptr<JobView>> open_job(BlockingToken& token, Storage& storage,
                                          const JobKey& job);

}  // namespace logarithm::aggregator
