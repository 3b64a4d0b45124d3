#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aggregator/store/batch.h"
#include "aggregator/store/catalogue.h"
#include "aggregator/store/job_facts.h"
#include "aggregator/store/reader_pool.h"
#include "aggregator/store/seal.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

// Shared by all jobs of a storage; only grows.
struct StoreCounters {
  std::atomic<std::uint64_t> blocks{0}, lines{0}, bytes{0};
  std::atomic<std::uint64_t> sealed_runs{0}, unmergeable_runs{0}, quarantined{0}, no_space{0};
  std::atomic<std::uint64_t> vanished{0};  // shards that were removed or replaced by others
  std::atomic<std::uint64_t> losses{0};    // events after which less may be stored than was told
  std::atomic<std::uint64_t> retired{0}, retired_bytes{0};  // shards that retention unlinked
};

struct JobStoreOptions {
  Database::Options database;
  std::uint64_t max_part_bytes = 4ull << 30;
  std::chrono::nanoseconds max_part_age{0};  // since its first block; 0: no limit
  SealLimits seal;
  std::uint64_t optimize_after = 512;  // new templates until the index is merged
};

// One open job: its parts, their one writer and their readers. Thread-safe: writers exclude each
// other, readers never wait for them.
class JobStore {
 public:
  // Opens all parts (and creates the first). Damaged files are moved aside, counted and logged.
  static Result<std::shared_ptr<JobStore>> open(BlockingToken&, Catalogue& catalogue,
                                                const Catalogue::Job& job, std::string directory,
                                                const JobStoreOptions& options, const Clock& clock,
                                                StoreCounters& counters);

  // As Storage::apply. `refuse_blocks`: the disk is nearly full, only small facts are taken.
  Result<std::vector<IngestOutcome>> apply(BlockingToken&, const std::vector<IngestItem>& items,
                                           bool refuse_blocks);
  Result<std::vector<StoredGeneration>> stored(BlockingToken&, StreamBase base);
  // Looks whether the parts' files are still there; what is gone is let go of.
  Status check_files(BlockingToken&);
  // Seals, optimizes, checkpoints: a bounded step. True when there is more to do.
  Result<bool> maintain(BlockingToken&);

  // Other limits at which the written part is followed by a new one. Any thread.
  void set_part_limits(std::uint64_t max_bytes, std::chrono::nanoseconds max_age) {
    max_part_bytes_.store(max_bytes);
    max_part_age_.store(max_age.count());
  }
  // Retention: unlinks the oldest part, if it still is `part`, after the catalogue has what must be
  // remembered of it. Readers that have it open go on. The bytes that its files had, 0 when it is
  // not the oldest any more.
  Result<std::uint64_t> retire(BlockingToken&, std::uint32_t part);
  // Begins a new part, so that the one that was written can be retired. Nothing when it is empty.
  Status roll(BlockingToken&);

  // One reader a part, in read transactions, and the facts as of those.
  struct View {
    std::vector<std::shared_ptr<ReaderPool>> pools;
    std::vector<std::unique_ptr<Database>> readers;
    std::vector<std::uint32_t> parts;
    std::shared_ptr<const JobFacts> facts;
  };
  Result<View> view(BlockingToken&);

  const JobKey& key() const { return job_.key; }
  std::size_t parts() const { return part_count_.load(); }
  std::uint64_t inbox_blocks() const { return inbox_blocks_.load(); }  // as of the last maintain()

 private:
  JobStore(Catalogue& catalogue, Catalogue::Job job, std::string directory,
           const JobStoreOptions& options, const Clock& clock, StoreCounters& counters)
      : catalogue_(catalogue),
        job_(std::move(job)),
        directory_(std::move(directory)),
        options_(options),
        max_part_bytes_(options.max_part_bytes),
        max_part_age_(options.max_part_age.count()),
        clock_(clock),
        counters_(counters) {}

  std::string part_path(std::uint32_t part) const;
  Status open_part(BlockingToken&, std::uint32_t part);
  // Opens what lies in the directory, or a first part. Under write_.
  Status open_all(BlockingToken&);
  void close_all();
  std::vector<std::uint32_t> numbers() const;
  Status let_go_of_vanished(BlockingToken&);
  Status roll_if_full(BlockingToken&);
  Result<View> try_view(BlockingToken&);
  Result<Retained> what_to_retain(BlockingToken&, Shard& shard);
  // After a failed write: forgets what was cached and moves a damaged part aside.
  std::size_t damaged_part(BlockingToken&);
  void after_failure(BlockingToken&, const Error& error);
  Result<bool> seal_some(BlockingToken&);
  Status seal_run(BlockingToken&, std::uint32_t part, const SealRun& run);
  Status seal_loaded(BlockingToken&, std::uint32_t part, const LoadedRun& loaded,
                     const SealRun& run, bool plain);
  Shard* find_part(std::uint32_t part);

  Catalogue& catalogue_;
  const Catalogue::Job job_;
  const std::string directory_;
  const JobStoreOptions options_;
  std::atomic<std::uint64_t> max_part_bytes_;
  std::atomic<std::int64_t> max_part_age_;
  const Clock& clock_;
  StoreCounters& counters_;

  std::mutex write_;  // parts_ and their shards
  Parts parts_;
  std::uint32_t next_part_ = 0;
  std::shared_ptr<const Retained> retained_ = std::make_shared<const Retained>();
  std::atomic<std::size_t> part_count_{0};
  std::atomic<std::uint64_t> inbox_blocks_{0};

  std::mutex read_;  // what follows
  std::vector<std::uint32_t> reader_parts_;
  std::vector<std::shared_ptr<ReaderPool>> readers_;
  std::shared_ptr<const JobFacts> facts_;
  std::shared_ptr<const Retained> read_retained_ = retained_;
};

}  // namespace logarithm::aggregator
