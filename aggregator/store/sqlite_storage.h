#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aggregator/store/catalogue.h"
#include "aggregator/store/job_store.h"
#include "aggregator/store/storage.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

struct SqliteStorageOptions {
  std::string data_dir;
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
  StorageStats stats() const override;
  std::uint64_t losses() const override { return counters_.losses.load(); }

  // Files moved aside since start, failed seals and the like, for /metrics.
  const StoreCounters& counters() const { return counters_; }

 private:
  SqliteStorage(SqliteStorageOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}
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

  const SqliteStorageOptions options_;
  const Clock& clock_;
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
};

}  // namespace logarithm::aggregator
