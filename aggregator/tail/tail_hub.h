#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "aggregator/store/storage.h"
#include "aggregator/tail/decoded_blocks.h"
#include "aggregator/tail/tail_reader.h"
#include "common/async/worker_pool.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

struct TailHubOptions {
  TailMergeOptions merge;
  std::size_t max_tails = 512;
  std::size_t shared_bytes = 64u << 20;  // decoded blocks kept for all tails
  std::size_t pieces_bytes = 64u << 20;  // pieces on their way to clients, all together
  std::size_t most_piece_bytes = 1u << 20;
  std::size_t least_piece_bytes = 64u << 10;
  std::uint64_t bytes_per_second = 100u << 20;                           // to all clients together
  std::chrono::nanoseconds round_pause = std::chrono::milliseconds(20);  // of one job, at least
  std::chrono::nanoseconds round_time = std::chrono::milliseconds(500);
  std::chrono::nanoseconds turn_time = std::chrono::milliseconds(25);  // of one tail in a round
};

struct TailStats {
  std::uint64_t open = 0, refused = 0, rounds = 0;
  std::uint64_t lines = 0, bytes = 0, skipped = 0, unreadable = 0, forgotten_holes = 0;
};

// All tails. Commits wake them: then one worker takes one view of the job and lets each of its
// waiting tails read on, so that facts are loaded and fresh blocks decoded once for all. A tail
// whose client has not taken its last piece does not take part, and costs nothing but that piece.
//
// Lives on one I/O thread; rounds run on `workers`, which must have one thread.
class TailHub {
 private:
  struct Feed;

 public:
  // One client's tail; ends when it is destroyed.
  class Subscription {
   public:
    Subscription(TailHub& hub, TailQuery query);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class TailHub;
    TailHub& hub_;
    const JobKey job_;
    TailReader reader_;
    boost::asio::steady_timer answered_;
    std::optional<Result<TailPiece>> answer_;
    // Nothing is to be had until the feed has news since this, or the time has come.
    std::uint64_t seen_ = 0;
    std::optional<MonotonicTime> retry_at_;
  };

  // The storage, the workers and the clock outlive the hub; it outlives its subscriptions, and the
  // workers must have drained before it is destroyed.
  TailHub(Storage& storage, WorkerPool& workers, boost::asio::any_io_executor executor,
          Clock& clock, LineEncoder encode, TailHubOptions options);
  ~TailHub();

  // Something was stored in the job.
  void on_commit(const JobKey& job);

  // nullptr when there are as many as there may be.
  std::shared_ptr<Subscription> subscribe(TailQuery query);
  // Waits for the next piece. One call at a time. Error{cancelled} when the waiter was cancelled;
  // any other Error ends the tail (not_found: there is no such job).
  boost::asio::awaitable<Result<TailPiece>> next(std::shared_ptr<Subscription> tail);
  // How long to hold back `bytes` so that all tails together stay within their rate.
  std::chrono::nanoseconds reserve(std::size_t bytes);

  const TailStats& stats() const { return stats_; }

 private:
  struct Round;

  Feed& feed_of(const JobKey& job);
  void schedule(Feed& feed);
  void wait_until(Feed& feed, MonotonicTime time);
  void start(Feed& feed, std::vector<std::shared_ptr<Subscription>> tails);
  void run(BlockingToken& token, Round& round);
  void finish(Round& round);
  void left(const JobKey& job);
  std::size_t piece_bytes() const;

  Storage& storage_;
  WorkerPool& workers_;
  boost::asio::any_io_executor executor_;
  Clock& clock_;
  const TailHubOptions options_;
  TailStats stats_;
  std::map<JobKey, std::unique_ptr<Feed>> feeds_;
  MonotonicTime rate_free_at_{};
  DecodedBlocks blocks_;  // touched in rounds only
};

}  // namespace logarithm::aggregator
