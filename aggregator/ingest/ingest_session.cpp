#include "aggregator/ingest/ingest_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <map>

#include "common/base/logging.h"
#include "common/block/block_reader.h"
#include "common/wire/batch.h"

namespace logarithm::aggregator {
namespace {

constexpr std::chrono::milliseconds kRetry{1000};
constexpr std::size_t kOpensAtOnce = 256;
constexpr std::size_t kMaxName = 1024;

std::uint32_t ms(std::chrono::milliseconds duration) {
  return static_cast<std::uint32_t>(duration.count());
}

}  // namespace

// ---- frames

void IngestSession::on_frame(std::string_view bytes) {
  if (state_ == State::ended) return;
  if (wire::is_batch(bytes)) {
    const auto frames = wire::decode_batch(bytes);
    if (!frames.ok()) return protocol_error("damaged batch: " + frames.error().message());
    for (const std::string_view frame : *frames) on_frame(frame);
    return;
  }
  ++hub_.stats_.frames;
  auto frame = wire::decode(bytes);
  if (!frame.ok()) return protocol_error("damaged frame: " + frame.error().message());
  if (!frame->has_value()) {
    ++hub_.stats_.unknown_frames;
    return;
  }
  const bool hello = std::holds_alternative<wire::Hello>(**frame);
  if (hello != (state_ == State::waiting_for_hello)) {
    return protocol_error(hello ? "a second hello" : "a frame before the hello");
  }
  std::visit([this](auto&& concrete) { on(std::move(concrete)); }, std::move(**frame));
}

void IngestSession::on(wire::Hello&& hello) {
  if (hello.protocol != wire::kProtocolVersion) {
    return end("protocol " + std::to_string(hello.protocol) + " is not spoken here",
               std::chrono::milliseconds(0));
  }
  if (hello.agent.empty() || hello.agent.size() > kMaxName || hello.host.size() > kMaxName) {
    return protocol_error("a hello without an agent, or with too long a name");
  }
  auto tenant = hub_.authenticate_(hello.token);
  if (!tenant.ok()) return end(tenant.error().message(), std::chrono::milliseconds(0));
  if (hello.block_version < block_format::kOldestReadable) {
    return end("block version " + std::to_string(hello.block_version) + " is too old",
               std::chrono::milliseconds(0));
  }
  token_ = hello.token;
  agent_ = IngestHub::AgentKey(*tenant, hello.agent);
  state_ = State::open;
  losses_ = hub_.storage_.losses();
  ++hub_.stats_.sessions;
  const UnixNanos now = hub_.clock_.wall_now();
  if (auto previous = hub_.replace(agent_, shared_from_this())) {
    waiting_for_previous_ = true;
    previous->when_drained([self = shared_from_this()] {
      self->waiting_for_previous_ = false;
      self->look_up_streams();
    });
  }
  hub_.agents_.connected(agent_.first, hello, hub_.clock_.now());
  hub_.leases_.heard_of(agent_.first, agent_.second);
  if (hello.batches && sink_ != nullptr) sink_->allow_batches();
  wire::Welcome welcome;
  welcome.batches = true;
  welcome.version = LGR_VERSION;
  welcome.block_version = std::min(hello.block_version, block_format::kVersion);
  welcome.credit = hub_.options_.credit;
  welcome.max_block = hub_.options_.max_block;
  welcome.now = now;
  send(welcome);
}

void IngestSession::check_token() {
  if (state_ != State::open) return;
  const auto tenant = hub_.authenticate_(token_);
  if (tenant.ok() && *tenant == agent_.first) return;
  end("the token is not valid any more", kRetry);
}

void IngestSession::on(wire::StreamInfo&& info) {
  const std::string job = info.attributes.job;
  submit_fact(job, std::move(info));
}

void IngestSession::on(wire::Processes&& processes) {
  std::map<std::string, wire::Processes> by_job;
  for (ProcessInfo& process : processes.processes) {
    by_job[process.job].processes.push_back(std::move(process));
  }
  for (auto& [job, group] : by_job) submit_fact(job, std::move(group));
}

void IngestSession::on(wire::Closed&& closed) {
  hub_.agents_.stream_closed(agent_.first, agent_.second, closed.stream);
  const std::string job = closed.job;
  submit_fact(job, std::move(closed));
}

void IngestSession::on(wire::GapReport&& report) {
  const std::string job = report.job;
  submit_fact(job, std::move(report));
}

bool IngestSession::end_after_loss() {
  if (state_ != State::open || hub_.storage_.losses() == losses_) return false;
  ++hub_.stats_.ended_after_loss;
  end("stored data was lost: compare what is there", kRetry);
  return true;
}

void IngestSession::on(wire::Heartbeat&& heartbeat) {
  if (end_after_loss()) return;
  const UnixNanos received = hub_.clock_.wall_now();
  hub_.agents_.heartbeat(agent_.first, agent_.second, heartbeat, received, hub_.clock_.now());
  hub_.leases_.heard_of(agent_.first, agent_.second);
  wire::ClockReply reply;
  reply.sent = heartbeat.sent;
  reply.received = received;
  reply.replied = hub_.clock_.wall_now();
  send(reply);
}

void IngestSession::on(wire::Flush&& flush) {
  if (flushes_.size() >= hub_.options_.max_waiting) return protocol_error("too many flushes");
  flushes_.emplace_back(next_ticket_, flush.id);
  finish_ticket(0);
}

void IngestSession::on(wire::Goodbye&& goodbye) {
  LGR_INFO("agent finished agent={} reason={}", agent_.second, goodbye.reason);
  hub_.agents_.forget(agent_.first, agent_.second);
  end("goodbye", kRetry);
}

// ---- what is stored

void IngestSession::on(wire::StreamOpen&& open) {
  if (open.job.empty()) return protocol_error("a stream of no job");
  if (open.lease && !hub_.leases_.acquire(agent_.first, open.base, agent_.second)) {
    wire::StreamState state;
    state.base = open.base;
    state.job = open.job;
    state.leased_elsewhere = true;
    return send(state);
  }
  if (opens_.size() >= hub_.options_.max_waiting) {
    return end("too many stream-opens at once", kRetry);
  }
  opens_.push_back(std::move(open));
  look_up_streams();
}

void IngestSession::look_up_streams() {
  if (state_ != State::open || looking_up_ || waiting_for_previous_ || opens_.empty()) return;
  looking_up_ = true;
  std::vector<wire::StreamOpen> batch;
  while (!opens_.empty() && batch.size() < kOpensAtOnce) {
    batch.push_back(std::move(opens_.front()));
    opens_.pop_front();
  }
  hub_.workers_.post([self = shared_from_this(), tenant = agent_.first, &storage = hub_.storage_,
                      executor = hub_.executor_, batch = std::move(batch)](BlockingToken& token) {
    std::vector<Result<wire::StreamState>> states;
    for (const wire::StreamOpen& open : batch) {
      JobKey key;
      key.tenant = tenant;
      key.job = open.job;
      auto stored = storage.stored(token, key, open.base);
      if (!stored.ok()) {
        states.push_back(stored.error());
        continue;
      }
      wire::StreamState state;
      state.base = open.base;
      state.job = open.job;
      state.generations = std::move(*stored);
      states.push_back(std::move(state));
    }
    boost::asio::post(executor, [self, states = std::move(states)]() mutable {
      self->answer_streams(std::move(states));
    });
    return Status();
  });
}

void IngestSession::answer_streams(std::vector<Result<wire::StreamState>> states) {
  looking_up_ = false;
  for (Result<wire::StreamState>& state : states) {
    if (state_ != State::open) return;
    // Saying "nothing is stored" here would make the agent send everything again.
    if (!state.ok()) return end("storage: " + state.error().message(), kRetry);
    send(std::move(*state));
  }
  look_up_streams();
}

// ---- answers and the end

void IngestSession::send(const wire::Frame& frame) {
  if (sink_ == nullptr || state_ == State::ended) return;
  if (sink_->queued_bytes() > hub_.options_.max_unsent) {
    return end("answers are not being read", kRetry);
  }
  sink_->send(wire::encode(frame));
}

void IngestSession::protocol_error(std::string reason) {
  ++hub_.stats_.protocol_errors;
  end(std::move(reason), kRetry);
}

void IngestSession::end(std::string reason, std::chrono::milliseconds retry_after) {
  if (state_ == State::ended) return;
  const bool was_open = state_ == State::open;
  state_ = State::ended;
  opens_.clear();
  flushes_.clear();
  if (was_open) {
    --hub_.stats_.sessions;
    hub_.forget(agent_, *this);
  }
  if (sink_ == nullptr) return;
  wire::Goodbye goodbye;
  goodbye.reason = reason;
  goodbye.retry_after_ms = ms(retry_after);
  sink_->send(wire::encode(goodbye));
  sink_->close(std::move(reason));
}

void IngestSession::on_disconnect() {
  sink_ = nullptr;
  end("disconnected", kRetry);
}

void IngestSession::when_drained(std::function<void()> then) {
  if (pending_.empty()) return then();
  drained_.push_back(std::move(then));
}

std::uint64_t IngestSession::take_ticket() {
  pending_.insert(next_ticket_);
  return next_ticket_++;
}

void IngestSession::finish_ticket(std::uint64_t ticket) {
  pending_.erase(ticket);
  while (!flushes_.empty() && (pending_.empty() || *pending_.begin() >= flushes_.front().first)) {
    wire::Flushed flushed;
    flushed.id = flushes_.front().second;
    flushes_.pop_front();
    send(flushed);
  }
  if (!pending_.empty()) return;
  for (auto& then : std::exchange(drained_, {})) then();
}

}  // namespace logarithm::aggregator
