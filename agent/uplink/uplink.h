#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "agent/spool/spool.h"
#include "agent/uplink/oracle.h"
#include "agent/uplink/transport.h"
#include "common/async/backoff.h"
#include "common/async/task_group.h"
#include "common/async/worker_pool.h"
#include "common/base/clock.h"
#include "common/base/logging.h"

namespace logarithm::agent {

struct UplinkOptions {
  std::string agent;  // stable id of this agent
  std::string host;
  std::string version;
  std::string token;
  std::chrono::milliseconds heartbeat{1000};
  std::chrono::milliseconds handshake{10000};
  std::chrono::milliseconds backoff_base{1000};
  std::chrono::milliseconds backoff_cap{8000};
  bool once =
      false;  // a refusal for good (a wrong token) ends run(); else it is tried every minute
  std::size_t batch_bytes = 1u << 20;  // of blocks taken from the spool at once
  std::uint64_t seed = 0;              // of the backoff's jitter
};

// Where heartbeats come from; called on the file thread. `streams` is the whole list, the uplink
// sends what changed.
class HeartbeatSource {
 public:
  virtual ~HeartbeatSource() = default;
  virtual wire::Heartbeat heartbeat(BlockingToken&) = 0;
};

// Counters; read from any thread.
struct UplinkStats {
  std::atomic<bool> connected{false};
  std::atomic<std::uint64_t> connects{0}, connect_errors{0}, disconnects{0};
  std::atomic<std::uint64_t> sent_blocks{0}, sent_bytes{0}, acked_blocks{0};
  std::atomic<std::uint64_t> refused_retryable{0}, refused_permanent{0}, recut{0}, not_yours{0};
  std::atomic<std::uint64_t> sent_plain{0};  // blocks encoded again without templates
  std::atomic<std::uint64_t> unmatched{0};   // acks and refusals of nothing that is in flight
  std::atomic<std::int64_t> clock_offset{0}, clock_error{0};  // of the aggregator; 0 error: unknown
};

// Ships the spool: connect, Hello, StreamInfo and Templates before the blocks that need them,
// blocks in order within the credit, acks back to the spool; after a loss of the connection
// everything that is not acked again. Between attempts see Backoff.
//
// io thread, but for wake(), stats() and the oracle's face (file thread). Never touches the spool's
// files itself: that is asked of `worker`.
class Uplink final : public StreamOracle {
 public:
  Uplink(UplinkOptions options, boost::asio::any_io_executor executor, Spool& spool,
         WorkerPool& worker, Transport& transport, HeartbeatSource& heartbeats, Clock& clock);

  // Until stop(); everything it started has ended then.
  boost::asio::awaitable<Status> run();
  // Ends the session politely, then run(). `for_good`: this agent does not come back, and need not
  // be listed any more.
  void stop(bool for_good = false);
  // The last chance (SIGTERM): if it waits between attempts, tries now; run() ends when an attempt
  // or the session fails.
  void hurry();
  // There may be something new to send. Any thread.
  void wake();
  // Connected, and all that next() gave is acked and stored. With a drained spool: all is done.
  bool idle() const { return idle_; }
  // Why the last attempt or session ended.
  const std::optional<Error>& last_error() const { return last_error_; }

  void ask(const StreamBase& base, const std::string& job) override;
  std::optional<wire::StreamState> answer(const StreamBase& base, const std::string& job) override;

  void drop(const StreamBase& base, const std::string& job) override { oracle_.drop(base, job); }
  std::uint64_t sessions() const override { return stats_.connects; }

  const UplinkStats& stats() const { return stats_; }

 private:
  struct InFlight {
    StreamId stream;
    std::string job;
    Range range;                // as sent: perhaps a part of the spooled block …
    std::uint64_t all_end = 0;  // … which ends here
    std::size_t bytes = 0;
    bool plain = false;
  };
  struct Resend {
    std::uint64_t resume_at = 0;
    bool with_infos = false;
    bool plain = false;
    std::size_t max_bytes = SIZE_MAX;  // after a refusal for the size
  };
  struct Flushing {
    std::uint64_t id = 0;  // 0: none
    std::vector<std::uint64_t> facts;
    std::uint64_t info_revision = 0;
  };

  // uplink.cpp: life of sessions
  boost::asio::awaitable<Status> session();
  boost::asio::awaitable<Status> read_loop(std::shared_ptr<Connection> connection);
  boost::asio::awaitable<Status> send_loop();
  boost::asio::awaitable<void> wait(MonotonicTime until);
  boost::asio::awaitable<void> alarm(MonotonicTime until);
  void notify();
  void reset_session();

  // uplink_send.cpp
  boost::asio::awaitable<Status> send_hello();
  boost::asio::awaitable<Status> send_asks();
  boost::asio::awaitable<Status> send_heartbeat();
  boost::asio::awaitable<Status> send_resends();
  boost::asio::awaitable<Status> send_again(std::uint64_t number, Resend how);
  boost::asio::awaitable<Status> send_infos_again();
  boost::asio::awaitable<Status> send_new();
  void add_block(SpooledBlock block, std::uint64_t all_end, bool plain,
                 std::vector<wire::Frame>& frames);
  void add_facts(std::vector<Fact> facts, std::vector<wire::Frame>& frames);
  void give_acks();
  boost::asio::awaitable<Status> send_flush();
  std::uint64_t budget() const;
  std::size_t max_block() const;
  bool paused() const { return clock_.now() < pause_until_; }

  // uplink_receive.cpp: what the aggregator says
  void on_frame(wire::Frame frame);
  void on(wire::Welcome&& welcome);
  void on(wire::Ack&& ack);
  void on(wire::Refuse&& refuse);
  void on(wire::ClockReply&& reply);
  void on(wire::Flushed&& flushed);
  void on(wire::Goodbye&& goodbye);
  void refuse_retryable(std::uint64_t number, const wire::Refuse& refuse);
  void refuse_permanent(std::uint64_t number, wire::Refuse refuse);
  void give_up(std::uint64_t number, wire::Refuse refuse);
  void refuse_fact(const wire::Refuse& refuse);
  void done(std::vector<std::uint64_t> numbers);
  // Takes a block out of flight: acked, or to be sent again.
  void land(std::uint64_t number);

  UplinkOptions options_;
  boost::asio::any_io_executor executor_;
  Spool& spool_;
  WorkerPool& worker_;
  Transport& transport_;
  HeartbeatSource& heartbeats_;
  Clock& clock_;
  Backoff backoff_;
  OracleBook oracle_;
  UplinkStats stats_;

  boost::asio::steady_timer waiter_;  // never expires; cancelled by notify()
  bool notified_ = false;
  MonotonicTime armed_ = MonotonicTime::max();
  std::atomic<bool> wake_posted_{false};
  TaskGroup* tasks_ = nullptr;
  bool stopping_ = false, hurry_ = false, idle_ = false;
  bool for_good_ = false;  // stop(): not to come back
  bool never_ = false;     // the aggregator does not want us
  std::optional<Error> last_error_;
  RateLimit loss_limit_{std::chrono::seconds(10)};
  std::optional<std::chrono::milliseconds> retry_after_;
  std::uint64_t confirmed_infos_ = 0;  // stream revision that the aggregator has surely stored

  // --- of one session
  std::shared_ptr<Connection> connection_;
  bool reading_ = false;
  std::optional<Error> failure_;
  std::optional<wire::Welcome> welcome_;
  MonotonicTime session_start_, next_heartbeat_, pause_until_;
  SpoolCursor cursor_;
  bool dirty_ = true;  // the spool may have something new
  std::map<std::uint64_t, InFlight> in_flight_;
  std::set<std::tuple<StreamId, std::uint64_t, std::uint64_t>> by_first_;  // stream, first, number
  std::uint64_t in_flight_bytes_ = 0;
  std::map<std::uint64_t, Resend> resends_;
  std::map<std::uint64_t, int> attempts_;
  std::map<StreamId, int> info_attempts_;
  std::vector<StreamId> infos_again_;
  std::vector<std::uint64_t> unflushed_facts_;
  std::uint64_t unflushed_infos_ = 0;
  Flushing flushing_;
  bool flush_spoiled_ = false;
  std::uint64_t flush_id_ = 0;
  std::map<StreamId, wire::StreamLag> told_;
  std::vector<std::uint64_t> landed_;  // acked, and the spool does not know yet
};

}  // namespace logarithm::agent
