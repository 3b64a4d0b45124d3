#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "aggregator/store/storage.h"
#include "common/async/worker_pool.h"
#include "common/base/clock.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {

// What one commit stored: for metrics and the tail.
struct Commit {
  struct Stored {
    StreamId stream;
    Range range;
  };
  JobKey job;
  std::vector<Stored> blocks;       // acked by it (replays too)
  double seconds = 0;               // of the transaction, fsync included
  std::optional<double> freshness;  // seconds from the oldest observed line to now, when under 1 h
};

// Group commit: submissions of many sessions for one job become one transaction. One writer a job
// at a time, on the worker pool; bounded in bytes. Thread-safe; completions and on_committed run on
// the executor.
class WriterPool {
 public:
  struct Options {
    std::size_t max_queued_bytes = 256u << 20;  // over all jobs
    std::size_t max_commit_bytes = 16u << 20;   // one transaction takes at least one submission
  };
  struct Stats {
    std::uint64_t queued_bytes = 0, queued = 0, commits = 0, failed = 0, overloaded = 0;
  };
  // In the order of the items; an Error: nothing of the submission was stored, try again.
  using Completion = std::function<void(Result<std::vector<IngestOutcome>>)>;

  // Collaborators outlive the pool, and the worker pool must have drained before it is destroyed.
  WriterPool(Storage& storage, WorkerPool& workers, boost::asio::any_io_executor executor,
             const Clock& clock, Options options)
      : storage_(storage),
        workers_(workers),
        executor_(std::move(executor)),
        clock_(clock),
        options_(options) {}

  // False (and `done` is never called) when the queue is full: refuse with `overloaded`.
  // `oldest_observed` is that of the lines in it, for the freshness figure.
  bool submit(const JobKey& job, std::vector<IngestItem> items, Completion done,
              std::optional<UnixNanos> oldest_observed = std::nullopt);

  // Set before the first submit().
  void on_committed(std::function<void(const Commit&)> hook) { hook_ = std::move(hook); }
  Stats stats() const;

 private:
  struct Entry {
    std::vector<IngestItem> items;
    std::size_t count = 0, bytes = 0;  // of the items
    std::optional<UnixNanos> oldest_observed;
    Completion done;
  };
  struct Queue {
    std::deque<Entry> entries;
    bool running = false;
  };
  void start(const JobKey& job);
  // One commit of `job`; true when more is queued.
  bool run_once(BlockingToken& token, const JobKey& job);
  std::vector<Entry> take(const JobKey& job);
  void finish(std::vector<Entry> entries, Result<std::vector<IngestOutcome>> outcomes,
              Commit commit);

  Storage& storage_;
  WorkerPool& workers_;
  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  const Options options_;
  std::function<void(const Commit&)> hook_;

  RateLimit warning_{std::chrono::seconds(10)};
  mutable std::mutex mutex_;
  std::map<JobKey, Queue> queues_;
  Stats stats_;
};

}  // namespace logarithm::aggregator
