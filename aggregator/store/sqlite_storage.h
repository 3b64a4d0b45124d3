#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aggregator/store/ballast.h"
#include "aggregator/store/catalogue.h"
#include "aggregator/store/job_store.h"
#include "aggregator/store/retention.h"
#include "aggregator/store/storage.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

// What can be changed while it runs.
struct StorageLimits {
  std::uint64_t min_free_bytes = 2ull << 30;
  std::uint64_t max_part_bytes = 4ull << 30;
  std::chrono::nanoseconds max_part_age{0};
  RetentionLimits retention;
};

struct SqliteStorageOptions {
  std::string data_dir;
  RetentionLimits retention;
  JobStoreOptions jobs;
  std::size_t max_open_jobs = 128;  // the least recently used are closed
  // Below so many free bytes blocks are refused (retryable) while queries and small facts go on.
  std::uint64_t min_free_bytes = 2ull << 30;
  // Free bytes of a directory's disk; nullopt when nobody can tell. Injected by tests.
  std::function<std::optional<std::uint64_t>(const std::string& directory)> free_bytes;
};

// The embedded storage: <data-dir>/catalogue.db and one SQLite file per
// <data-dir>/<hash of tenant>/<hash of job>/part-<N>.db. Thread-safe; calls for different jobs run
// in parallel.
class SqliteStorage final : public Storage {
 public:
  // Fills the catalogue from the shards. Damaged files are moved aside and counted, never fatal;
  // an Error means that the data directory itself cannot be used. `clock` outlives the storage.
  static Result<std::unique_ptr<SqliteStorage>> open(BlockingToken&, SqliteStorageOptions options,
                                                     const Clock& clock);

  Result<std::vector<StoredGeneration>> stored(BlockingToken&, const JobKey& job,
                                               StreamBase base) override;
  Result<std::vector<IngestOutcome>> apply(BlockingToken&, const JobKey& job,
                                           const std::vector<IngestItem>& items) override;
  Result<bool> maintain(BlockingToken&) override;
  Result<std::vector<JobKey>> jobs(BlockingToken&, const std::string& tenant) override;
  Result<JobSummary> summary(BlockingToken&, const JobKey& job) override;
  Result<std::shared_ptr<JobSnapshot>> snapshot(BlockingToken&, const JobKey& job) override;
  Result<JobKey> job_of(BlockingToken&, const std::string& tenant, StreamId stream) override;
  Status add_clock_readings(BlockingToken&, const std::vector<HostClock>& readings) override;
  Result<std::vector<ClockReading>> clock_history(BlockingToken&, const std::string& tenant,
                                                  const std::string& host) override;
  StorageStats stats() const override;
  // Takes effect with the next commit and the next upkeep. Any thread.
  void set_limits(const StorageLimits& limits);
  std::uint64_t losses() const override { return counters_.losses.load(); }

  // Files moved aside since start, failed seals and the like, for /metrics.
  const StoreCounters& counters() const { return counters_; }

 private:
  SqliteStorage(SqliteStorageOptions options, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        ballast_(options_.data_dir + "/ballast"),
        min_free_bytes_(options_.min_free_bytes),
        retention_(options_.retention) {}
  std::string directory_of(const JobKey& job) const;
  // Reads every shard file once: jobs and streams that the catalogue lacks are added.
  Status scan(BlockingToken&);
  Status scan_job(BlockingToken&, const std::string& directory);
  // Parts that the catalogue names and nobody finds: of jobs that are not open (open ones look for
  // themselves).
  void note_missing(BlockingToken&);
  // Error{not_found} for an unknown job.
  Result<std::shared_ptr<JobStore>> existing(BlockingToken&, const JobKey& job);
  Result<std::shared_ptr<JobStore>> open_job(BlockingToken&, const Catalogue::Job& job);
  bool nearly_full();
  void measure(BlockingToken&);
  // sqlite_storage_retention.cpp: one step, true when there is more to do.
  Result<bool> retain(BlockingToken&);
  std::vector<PartFile> part_files(BlockingToken&);
  Status take_step(BlockingToken&, const RetentionStep& step);
  Status forget_old(BlockingToken&);
  std::optional<std::uint64_t> free_soon();

  SqliteStorageOptions options_;  // `jobs` under mutex_, the rest as it was at the start
  const Clock& clock_;
  Ballast ballast_;  // upkeep only
  std::unique_ptr<Catalogue> catalogue_;
  mutable StoreCounters counters_;

  std::mutex mutex_;
  struct Open {
    std::shared_ptr<JobStore> store;
    std::list<JobKey>::iterator used;
  };
  std::map<JobKey, Open> open_;
  std::list<JobKey> used_;  // newest first
  std::atomic<std::uint64_t> open_shards_{0};
  mutable std::mutex measured_mutex_;
  StorageStats measured_;  // what only a worker can measure
  std::atomic<bool> full_{false};
  std::atomic<bool> write_failed_full_{false};  // the last commit found no space
  std::atomic<std::uint64_t> min_free_bytes_;
  mutable std::mutex retention_mutex_;
  RetentionLimits retention_;
  // Upkeep only.
  MonotonicTime next_retention_{}, next_forget_{};
  // Readers keep the room of unlinked shards for a while: until then it counts as freed.
  std::uint64_t expected_free_ = 0;
  MonotonicTime expected_until_{};
};

}  // namespace logarithm::aggregator
