#include "agent/uplink/uplink.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr auto kLongSession = std::chrono::seconds(5);
// "Never" from the aggregator (a wrong token): somebody has to change something, but nobody should
// have to restart us afterwards.
constexpr auto kNever = std::chrono::seconds(60);

}  // namespace

Uplink::Uplink(UplinkOptions options, boost::asio::any_io_executor executor, Spool& spool,
               WorkerPool& worker, Transport& transport, HeartbeatSource& heartbeats, Clock& clock)
    : options_(std::move(options)),
      executor_(executor),
      spool_(spool),
      worker_(worker),
      transport_(transport),
      heartbeats_(heartbeats),
      clock_(clock),
      backoff_(options_.backoff_base, options_.backoff_cap, options_.seed),
      waiter_(executor, MonotonicTime::max()) {}

boost::asio::awaitable<Status> Uplink::run() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  TaskGroup tasks(executor_);
  tasks_ = &tasks;
  bool first = true;
  while (!stopping_) {
    if (!first && (hurry_ || (options_.once && never_))) break;
    if (!first) {
      // Not the later of the two: a fleet that is told the same time must not come back at it.
      MonotonicTime until = clock_.now() + backoff_.next();
      if (retry_after_) until += *retry_after_;
      retry_after_.reset();
      while (!stopping_ && !hurry_ && clock_.now() < until) co_await wait(until);
      if (stopping_) break;
    }
    first = false;
    Status ended = co_await session();
    stats_.connected = false;
    idle_ = false;
    if (ended.ok()) continue;
    last_error_ = ended.error();
    std::uint64_t suppressed = 0;
    if (!stopping_ && loss_limit_.allow(clock_.now(), suppressed)) {
      LGR_WARN("no session with the aggregator, trying again error={} suppressed={}",
               ended.error().to_string(), suppressed);
    }
  }
  tasks.request_stop();
  const Status joined = co_await tasks.join();
  tasks_ = nullptr;
  co_return joined;
}

void Uplink::stop(bool for_good) {
  for_good_ = for_good;
  stopping_ = true;
  notify();
}

void Uplink::hurry() {
  hurry_ = true;
  notify();
}

void Uplink::wake() {
  if (wake_posted_.exchange(true)) return;
  boost::asio::post(executor_, [this] {
    wake_posted_ = false;
    dirty_ = true;
    idle_ = false;
    notify();
  });
}

void Uplink::ask(const StreamBase& base, const std::string& job) {
  oracle_.ask(base, job);
  wake();
}

std::optional<wire::StreamState> Uplink::answer(const StreamBase& base, const std::string& job) {
  return oracle_.answer(base, job);
}

void Uplink::notify() {
  notified_ = true;
  waiter_.cancel();
}

boost::asio::awaitable<void> Uplink::alarm(MonotonicTime until) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_await clock_.sleep_until(until);
  if (armed_ == until) armed_ = MonotonicTime::max();
  notify();
}

boost::asio::awaitable<void> Uplink::wait(MonotonicTime until) {
  if (until < armed_ && !tasks_->stopping()) {
    armed_ = until;
    tasks_->spawn("alarm", alarm(until));
  }
  while (!notified_) {
    co_await waiter_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  notified_ = false;
}

void Uplink::reset_session() {
  failure_.reset();
  welcome_.reset();
  session_start_ = next_heartbeat_ = clock_.now();
  pause_until_ = {};
  cursor_ = {};
  cursor_.info_revision = confirmed_infos_;
  dirty_ = true;
  in_flight_.clear();
  by_first_.clear();
  in_flight_bytes_ = 0;
  resends_.clear();
  attempts_.clear();
  info_attempts_.clear();
  infos_again_.clear();
  unflushed_facts_.clear();
  unflushed_infos_ = confirmed_infos_;
  flushing_ = {};
  flush_spoiled_ = false;
  told_.clear();
  oracle_.connection_made();
}

boost::asio::awaitable<Status> Uplink::session() {
  auto connected = co_await transport_.connect();
  if (!connected.ok()) {
    ++stats_.connect_errors;
    never_ = connected.error().code() == ErrorCode::invalid;
    co_return connected.error();
  }
  connection_ = std::move(*connected);
  reset_session();
  Status status = co_await send_hello();
  reading_ = true;
  tasks_->spawn("reader", read_loop(connection_));
  const MonotonicTime deadline = clock_.now() + options_.handshake;
  while (status.ok() && !welcome_ && !failure_ && !stopping_ && clock_.now() < deadline) {
    co_await wait(deadline);
  }
  if (failure_) status = *failure_;
  if (status.ok() && !welcome_ && !stopping_) status = Error(ErrorCode::timeout, "no welcome");
  if (status.ok() && welcome_) {
    ++stats_.connects;
    stats_.connected = true;
    LGR_INFO("connected aggregator_version={} credit={}", welcome_->version, welcome_->credit);
    status = co_await send_loop();
    ++stats_.disconnects;
  }
  if (clock_.now() - session_start_ >= kLongSession) backoff_.reset();
  if (status.ok() && for_good_ && stats_.connected) {
    wire::Goodbye goodbye;
    goodbye.reason = "finished";
    wire::Frame frame = std::move(goodbye);
    status = co_await connection_->send(std::move(frame));
  }
  if (status.ok()) {
    std::string reason = "stopping";
    co_await connection_->close(std::move(reason));
  }
  connection_->cancel();
  while (reading_) co_await wait(MonotonicTime::max());
  give_acks();
  connection_.reset();
  co_return status;
}

boost::asio::awaitable<Status> Uplink::read_loop(std::shared_ptr<Connection> connection) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (true) {
    auto frame = co_await connection->receive();
    if (!frame.ok()) {
      if (!failure_) failure_ = frame.error();
      break;
    }
    on_frame(std::move(*frame));
    notify();
  }
  reading_ = false;
  notify();
  co_return Status();
}

boost::asio::awaitable<Status> Uplink::send_loop() {
  while (!stopping_) {
    give_acks();
    if (failure_) co_return *failure_;
    // First of all the whole list: until then the aggregator calls our streams incomplete.
    if (clock_.now() >= next_heartbeat_) LGR_CO_CHECK(co_await send_heartbeat());
    LGR_CO_CHECK(co_await send_asks());
    LGR_CO_CHECK(co_await send_infos_again());
    if (!paused()) LGR_CO_CHECK(co_await send_resends());
    if (dirty_) {
      LGR_CO_CHECK(co_await send_new());
      continue;
    }
    if (flushing_.id == 0 && (!unflushed_facts_.empty() || unflushed_infos_ > confirmed_infos_)) {
      LGR_CO_CHECK(co_await send_flush());
    }
    idle_ = in_flight_.empty() && landed_.empty() && resends_.empty() && infos_again_.empty() &&
            flushing_.id == 0 && !oracle_.has_open();
    MonotonicTime until = next_heartbeat_;
    if (paused()) until = std::min(until, pause_until_);
    co_await wait(until);
  }
  co_return Status();
}

void Uplink::on(wire::Goodbye&& goodbye) {
  retry_after_ = goodbye.retry_after_ms != 0 ? std::chrono::milliseconds(goodbye.retry_after_ms)
                                             : std::chrono::milliseconds(kNever);
  never_ = goodbye.retry_after_ms == 0;
  if (never_) LGR_ERROR("refused by the aggregator reason={}", goodbye.reason);
  failure_ = Error(ErrorCode::unavailable, "aggregator says goodbye: " + goodbye.reason);
}

}  // namespace logarithm::agent
