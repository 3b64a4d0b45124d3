#pragma once

#include <boost/asio/co_spawn.hpp>

#include "agent/uplink/uplink.h"
#include "tests/support/fake_transport.h"
#include "tests/unit/agent/spool/spool_fixture.h"

namespace logarithm::agent::test {

class QuietHeartbeats final : public HeartbeatSource {
 public:
  wire::Heartbeat heartbeat(BlockingToken&) override { return {}; }
};

// An uplink over a spool in memory and a made-up aggregator; time moves only by advance().
struct UplinkFixture : SpoolFixture {
  FakeTransport transport{io};
  QuietHeartbeats heartbeats;
  std::unique_ptr<Uplink> uplink;
  bool ended = false;
  bool once = false;

  UplinkFixture() { REQUIRE(open().ok()); }
  ~UplinkFixture() { stop(); }

  void start(std::uint64_t seed = 1) {
    UplinkOptions uplink_options;
    uplink_options.agent = "agent";
    uplink_options.host = "host";
    uplink_options.seed = seed;
    uplink_options.once = once;
    uplink = std::make_unique<Uplink>(uplink_options, io.get_executor(), *spool, pool, transport,
                                      heartbeats, clock);
    spool->on_change([this] { uplink->wake(); });
    ended = false;
    boost::asio::co_spawn(io, uplink->run(), [this](std::exception_ptr thrown, Status status) {
      CHECK(!thrown);
      CHECK(status.ok());
      ended = true;
    });
    settle();
  }
  void stop() {
    if (uplink == nullptr) return;
    uplink->stop();
    settle();
    CHECK(ended);
    spool->on_change({});
    uplink.reset();
  }

  // Runs everything that can run without time passing.
  void settle() {
    for (int quiet = 0; quiet < 2;) {
      io.restart();
      std::size_t ran = io.poll();
      pool.run_and_wait([](BlockingToken&) { return true; });
      io.restart();
      ran += io.poll();
      quiet = ran == 0 ? quiet + 1 : 0;
    }
  }
  void advance(std::chrono::milliseconds by) {
    clock.advance(io, by);
    settle();
  }
  FakeConnection& peer() { return *transport.last; }
  void say(wire::Frame frame) {
    peer().say(std::move(frame));
    settle();
  }
  void welcome(std::uint64_t credit = 1u << 20) {
    wire::Welcome welcome;
    welcome.credit = credit;
    welcome.max_block = 16u << 20;
    say(welcome);
  }
  void ack_of(const wire::Block& block) {
    wire::Ack ack;
    ack.stream = block.stream;
    ack.job = block.job;
    ack.first = block.first;
    ack.end = block.end;
    say(ack);
  }
  wire::Refuse refuse_of(const wire::Block& block, wire::RefuseCode code) {
    wire::Refuse refuse;
    refuse.stream = block.stream;
    refuse.job = block.job;
    refuse.first = block.first;
    refuse.end = block.end;
    refuse.code = code;
    return refuse;
  }
  void flush_all() {
    for (const wire::Flush& flush : peer().all<wire::Flush>()) {
      wire::Flushed flushed;
      flushed.id = flush.id;
      say(flushed);
    }
  }
  std::vector<wire::Block> blocks() { return peer().all<wire::Block>(); }
};

// Answers as the real aggregator does; remembers what it stored.
inline void answer_everything(FakeConnection& connection, std::vector<Range>& stored) {
  wire::Welcome welcome;
  welcome.credit = 1u << 20;
  connection.say(welcome);
  connection.on_sent = [&connection, &stored](const wire::Frame& frame) {
    if (const auto* block = std::get_if<wire::Block>(&frame)) {
      stored.push_back({block->first, block->end});
      wire::Ack ack;
      ack.stream = block->stream;
      ack.first = block->first;
      ack.end = block->end;
      connection.say(ack);
    } else if (const auto* flush = std::get_if<wire::Flush>(&frame)) {
      wire::Flushed flushed;
      flushed.id = flush->id;
      connection.say(flushed);
    }
  };
}

}  // namespace logarithm::agent::test
