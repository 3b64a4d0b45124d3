#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/http/histogram.h"
#include "common/async/blocking.h"
#include "common/async/worker_pool.h"
#include "common/base/clock.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

struct QueryOptions {
  std::chrono::nanoseconds deadline = std::chrono::seconds(30);
  std::chrono::nanoseconds slice = std::chrono::milliseconds(50);
  std::size_t max_concurrent = 32;
  std::size_t max_light = 64;  // of those that read no lines: they never wait for a place
  std::chrono::nanoseconds patience = std::chrono::seconds(5);
  std::chrono::nanoseconds park_after = std::chrono::milliseconds(500);
  std::size_t memory = 256u << 20;  // decoded lines of all queries, about, bytes
};

// One query's work, cut in turns that run on a worker. Touched by one thread at a time: a worker
// while a turn runs, the I/O thread in between.
class QueryTask {
 public:
  virtual ~QueryTask() = default;
  // Works until there is something to give (true) or `time_is_up` says stop (false: call again).
  virtual Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) = 0;

  // The client does not take what there is: lets go of all but what going on later needs. What is
  // given back is destroyed by a worker, since it may block.
  virtual std::shared_ptr<void> park() { return nullptr; }

  // From any thread: the client has left.
  void cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }

 private:
  std::atomic<bool> cancelled_{false};
};

// A place among the running queries, given back when destroyed. I/O thread.
class QueryPlace {
 public:
  explicit QueryPlace(std::shared_ptr<std::size_t> running) : running_(std::move(running)) {
    ++*running_;
  }
  ~QueryPlace() { --*running_; }
  QueryPlace(const QueryPlace&) = delete;
  QueryPlace& operator=(const QueryPlace&) = delete;

  // Since when a streamed answer waits for its client; absent while it works.
  std::optional<MonotonicTime> waiting_since;
  bool parked = false;
  std::function<std::shared_ptr<void>()> park;  // QueryTask::park() of what it is the place of
  // Ends that answer: lets go of this place and of all that the answer holds.
  std::function<void()> give_up;

 private:
  std::shared_ptr<std::size_t> running_;
};

// Runs queries on a worker pool in slices, so that many share it; with a deadline, a cap on how
// many there are, and an end when the client leaves. Lives on one I/O thread.
class QueryRunner {
 public:
  QueryRunner(WorkerPool& pool, Clock& clock, QueryOptions options)
      : pool_(pool), clock_(clock), options_(options) {}

  // A place among the running queries; null when all are taken. A client that has not taken the
  // next piece of its answer for `patience` loses its place to one that asks: readers that stall
  // shut nobody out.
  std::shared_ptr<QueryPlace> try_admit();
  // The same for what costs little (jobs, streams, processes): no query keeps it out.
  std::shared_ptr<QueryPlace> try_admit_light();
  // Parks the answers whose clients have taken nothing for `park_after`: a reader that stalls keeps
  // one piece and no more. Called every second or so.
  void park_stalled();
  // Of a query that begins now: what the running ones share.
  std::size_t memory_share() const;

  // Runs turns until one gives something. Error{timeout} past the deadline (counted anew by each
  // call: a stream that keeps giving never times out), Error{cancelled} when the client left.
  boost::asio::awaitable<Status> run(std::shared_ptr<QueryTask> task);

  // Other limits for what begins from now on.
  void set_limits(std::chrono::nanoseconds deadline, std::size_t max_concurrent,
                  std::size_t memory) {
    options_.deadline = deadline;
    options_.max_concurrent = max_concurrent;
    options_.memory = memory;
  }
  const QueryOptions& options() const { return options_; }
  Clock& clock() const { return clock_; }
  std::size_t running() const { return *running_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t timeouts() const { return timeouts_; }
  std::uint64_t evicted() const { return evicted_; }
  std::uint64_t parked() const { return parked_; }
  Histogram& seconds() { return seconds_; }

 private:
  void evict_one();

  WorkerPool& pool_;
  Clock& clock_;
  QueryOptions options_;
  std::shared_ptr<std::size_t> running_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::size_t> light_ = std::make_shared<std::size_t>(0);
  std::uint64_t total_ = 0, refused_ = 0, timeouts_ = 0, evicted_ = 0, parked_ = 0;
  std::vector<std::weak_ptr<QueryPlace>> places_;
  Histogram seconds_;
};

}  // namespace logarithm::aggregator
