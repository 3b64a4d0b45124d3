#include <algorithm>
#include <memory>

#include "agent/uplink/recut.h"
#include "agent/uplink/uplink.h"
#include "common/base/logging.h"
#include "common/block/block_format.h"

// What the uplink sends. Frames are named before they are sent: see style T4.
namespace logarithm::agent {

boost::asio::awaitable<Status> Uplink::send_hello() {
  wire::Hello hello;
  hello.agent = options_.agent;
  hello.host = options_.host;
  hello.version = options_.version;
  hello.block_version = block_format::kVersion;
  hello.token = options_.token;
  hello.batches = true;
  wire::Frame frame = std::move(hello);
  co_return co_await connection_->send(std::move(frame));
}

boost::asio::awaitable<Status> Uplink::send_asks() {
  std::vector<wire::StreamOpen> asks = oracle_.take();
  for (wire::StreamOpen& ask : asks) {
    wire::Frame frame = std::move(ask);
    LGR_CO_CHECK(co_await connection_->send(std::move(frame)));
  }
  co_return Status();
}

boost::asio::awaitable<Status> Uplink::send_heartbeat() {
  next_heartbeat_ = clock_.now() + options_.heartbeat;
  auto make = [source = &heartbeats_](BlockingToken& token) { return source->heartbeat(token); };
  wire::Heartbeat beat = co_await worker_.run(std::move(make));
  std::erase_if(beat.streams, [this](const wire::StreamLag& lag) {
    wire::StreamLag& told = told_[lag.stream];
    if (told.job == lag.job && told.size == lag.size && told.offset == lag.offset) return true;
    told = lag;
    return false;
  });
  if (const std::int64_t error = stats_.clock_error; error > 0) {
    beat.clock_offset = stats_.clock_offset;
    beat.clock_error = error;
  }
  beat.sent = clock_.wall_now();
  wire::Frame frame = std::move(beat);
  co_return co_await connection_->send(std::move(frame));
}

boost::asio::awaitable<Status> Uplink::send_infos_again() {
  while (!infos_again_.empty()) {
    const StreamId stream = infos_again_.back();
    infos_again_.pop_back();
    auto get = [spool = &spool_, stream](BlockingToken&) { return spool->infos(stream); };
    std::vector<wire::StreamInfo> infos = co_await worker_.run(std::move(get));
    for (wire::StreamInfo& info : infos) {
      wire::Frame frame = std::move(info);
      LGR_CO_CHECK(co_await connection_->send(std::move(frame)));
    }
  }
  co_return Status();
}

boost::asio::awaitable<Status> Uplink::send_resends() {
  // In order, and before anything new.
  while (!resends_.empty() && !paused() && (in_flight_.empty() || budget() > 0)) {
    const std::uint64_t number = resends_.begin()->first;
    const Resend how = resends_.begin()->second;
    resends_.erase(resends_.begin());
    dirty_ = true;  // new blocks had to wait for these
    LGR_CO_CHECK(co_await send_again(number, how));
  }
  co_return Status();
}

boost::asio::awaitable<Status> Uplink::send_again(std::uint64_t number, Resend how) {
  const auto all_end = std::make_shared<std::uint64_t>(0);
  const std::size_t most = std::min(how.max_bytes, max_block());
  auto read = [spool = &spool_, number, how, most,
               all_end](BlockingToken& token) -> Result<SpooledBlock> {
    LGR_TRY(SpooledBlock block, spool->read(token, number));
    *all_end = block.block.end;
    const bool whole = how.resume_at <= block.block.first && !how.plain;
    if (whole && block.block.bytes.size() <= most) return block;
    return recut(block, Recut{how.resume_at, how.plain, most});
  };
  Result<SpooledBlock> block = co_await worker_.run(std::move(read));
  if (!block.ok()) {
    if (block.error().code() == ErrorCode::not_found) co_return Status();
    // It can be neither sent nor cut: as if it had been refused.
    ++stats_.refused_permanent;
    auto drop = [spool = &spool_, number, how, all_end, why = block.error()](BlockingToken& token) {
      wire::Refuse refuse;
      refuse.code = why.code() == ErrorCode::too_large ? wire::RefuseCode::too_large
                                                       : wire::RefuseCode::corrupt;
      refuse.message = why.message();
      refuse.first = how.resume_at;
      refuse.end = *all_end;
      spool->refused(token, number, std::move(refuse));
      return Status();
    };
    co_return co_await worker_.run(std::move(drop));
  }
  if (how.with_infos) {
    infos_again_.push_back(block->block.stream);
    LGR_CO_CHECK(co_await send_infos_again());
  }
  if (how.plain) ++stats_.sent_plain;
  std::vector<wire::Frame> frames;
  add_block(std::move(*block), *all_end, how.plain, frames);
  co_return co_await connection_->send_all(std::move(frames));
}

std::size_t Uplink::max_block() const {
  return welcome_->max_block == 0 ? SIZE_MAX : welcome_->max_block;
}

std::uint64_t Uplink::budget() const {
  const std::uint64_t credit = std::max<std::uint64_t>(welcome_->credit, 1);
  if (in_flight_bytes_ >= credit) return 0;
  return std::min<std::uint64_t>(credit - in_flight_bytes_, options_.batch_bytes);
}

// Its templates, and the block: in flight from here on.
void Uplink::add_block(SpooledBlock block, std::uint64_t all_end, bool plain,
                       std::vector<wire::Frame>& frames) {
  if (!block.templates.empty()) {
    wire::Templates templates;
    templates.templates = std::move(block.templates);
    frames.emplace_back(std::move(templates));
  }
  InFlight sent;
  sent.stream = block.block.stream;
  sent.job = block.block.job;
  sent.range = {block.block.first, block.block.end};
  sent.all_end = all_end;
  sent.plain = plain;
  sent.bytes = block.block.bytes.size();
  in_flight_bytes_ += sent.bytes;
  stats_.sent_bytes += sent.bytes;
  ++stats_.sent_blocks;
  by_first_.insert({sent.stream, sent.range.first, block.number});
  in_flight_[block.number] = std::move(sent);
  frames.emplace_back(std::move(block.block));
}

void Uplink::add_facts(std::vector<Fact> facts, std::vector<wire::Frame>& frames) {
  wire::Processes processes;
  for (Fact& fact : facts) {
    unflushed_facts_.push_back(fact.id);
    if (auto* process = std::get_if<ProcessInfo>(&fact.value)) {
      processes.processes.push_back(std::move(*process));
    }
  }
  if (!processes.processes.empty()) frames.emplace_back(std::move(processes));
  for (Fact& fact : facts) {
    if (auto* report = std::get_if<wire::GapReport>(&fact.value)) {
      frames.emplace_back(std::move(*report));
    } else if (auto* closed = std::get_if<wire::Closed>(&fact.value)) {
      frames.emplace_back(std::move(*closed));
    }
  }
}

boost::asio::awaitable<Status> Uplink::send_new() {
  dirty_ = false;
  const std::uint64_t bytes = paused() || !resends_.empty() ? 0 : budget();
  auto take = [spool = &spool_, bytes, cursor = std::move(cursor_)](BlockingToken& token) mutable {
    return spool->next(token, std::move(cursor), static_cast<std::size_t>(bytes));
  };
  SpoolBatch batch = co_await worker_.run(std::move(take));
  cursor_ = std::move(batch.cursor);
  if (batch.more && !batch.empty()) dirty_ = true;
  std::vector<wire::Frame> frames;
  for (wire::StreamInfo& info : batch.infos) frames.emplace_back(std::move(info));
  unflushed_infos_ = std::max(unflushed_infos_, cursor_.info_revision);
  for (SpooledBlock& block : batch.blocks) {
    if (block.block.bytes.size() > max_block()) {
      resends_[block.number].resume_at = block.block.first;  // in pieces
      continue;
    }
    const std::uint64_t end = block.block.end;
    add_block(std::move(block), end, false, frames);
  }
  add_facts(std::move(batch.facts), frames);
  co_return co_await connection_->send_all(std::move(frames));
}

// What landed since the last call, at once: the acks of a batch come together.
void Uplink::give_acks() {
  if (landed_.empty()) return;
  worker_.post([spool = &spool_, numbers = std::exchange(landed_, {})](BlockingToken& token) {
    spool->ack(token, numbers);
    return Status();
  });
}

boost::asio::awaitable<Status> Uplink::send_flush() {
  flushing_.id = ++flush_id_;
  flushing_.facts = std::move(unflushed_facts_);
  unflushed_facts_.clear();
  flushing_.info_revision = unflushed_infos_;
  wire::Flush flush;
  flush.id = flushing_.id;
  wire::Frame frame = std::move(flush);
  co_return co_await connection_->send(std::move(frame));
}

}  // namespace logarithm::agent
