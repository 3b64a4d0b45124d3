#include "aggregator/ingest/ingest_session.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <random>

#include "common/wire/batch.h"
#include "tests/unit/aggregator/store/made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");

class Answers final : public FrameSink {
 public:
  void send(std::string message) override {
    auto frame = wire::decode(message);
    REQUIRE(frame.ok());
    REQUIRE(frame->has_value());
    frames.push_back(std::move(**frame));
  }
  std::size_t queued_bytes() const override { return queued; }
  void close(std::string reason) override { closed = std::move(reason); }

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> result;
    for (const wire::Frame& frame : frames) {
      if (const T* match = std::get_if<T>(&frame)) result.push_back(*match);
    }
    return result;
  }
  template <typename T>
  bool has() const {
    return !all<T>().empty();
  }

  void allow_batches() override { batches = true; }

  std::vector<wire::Frame> frames;
  bool batches = false;
  std::optional<std::string> closed;
  std::size_t queued = 0;
};

// An aggregator without sockets.
struct Aggregator {
  explicit Aggregator(IngestOptions options = {}, WriterPool::Options writing = {})
      : writers(store.storage(), workers, io.get_executor(), store.clock, writing),
        hub(
            store.storage(), writers, workers, io.get_executor(), store.clock,
            [](const std::string& token) -> Result<std::string> {
              if (token == "wrong") return Error(ErrorCode::invalid, "unknown token");
              return token.empty() ? std::string("default") : token;
            },
            options) {}
  ~Aggregator() { settle(); }

  // Runs until nothing is under way: two rounds, since an answer may start another task.
  void settle() {
    for (int round = 0; round < 3; ++round) {
      workers.run_and_wait([](BlockingToken&) { return 0; });
      io.restart();
      io.poll();
    }
  }

  Store store;
  boost::asio::io_context io;
  WorkerPool workers{1};
  WriterPool writers;
  IngestHub hub;
};

// One connection of an agent.
struct Peer {
  Peer(Aggregator& to, std::string agent = "node1", std::string token = {})
      : aggregator(to), session(to.hub.connect(answers)) {
    wire::Hello hello;
    hello.agent = std::move(agent);
    hello.host = "node1";
    hello.block_version = 1;
    hello.token = std::move(token);
    send(hello);
  }
  ~Peer() { session->on_disconnect(); }
  void send(const wire::Frame& frame) { session->on_frame(wire::encode(frame)); }
  // Info, templates and block, as an agent sends them.
  void send_block(const MadeBlock& made) {
    send(info_of(made.block.stream, made.block.job));
    send(made.templates);
    send(made.block);
  }

  Aggregator& aggregator;
  Answers answers;
  std::shared_ptr<IngestSession> session;
};

MadeBlock block_at(std::uint64_t offset, int lines = 5, const StreamId& stream = kStream) {
  return make_block(stream, "run7", numbered_lines(offset, lines));
}

TEST_CASE(
    "case 75: Session: an ack comes after the commit, a replay is acked and changes nothing") {
  Aggregator aggregator;
  Peer peer(aggregator);
  REQUIRE(peer.answers.has<wire::Welcome>());
  const MadeBlock made = block_at(0);
  peer.send_block(made);
  CHECK_FALSE(peer.answers.has<wire::Ack>());

  aggregator.settle();

  REQUIRE(peer.answers.all<wire::Ack>().size() == 1);
  CHECK(peer.answers.all<wire::Ack>()[0].end == made.block.end);
  peer.send(made.block);
  aggregator.settle();
  CHECK(peer.answers.all<wire::Ack>().size() == 2);
  CHECK(aggregator.store.all_lines(key_of("run7")).size() == 5);
}

TEST_CASE("Session: a batch is its frames, and damage in it ends the session") {
  Aggregator aggregator;
  Peer peer(aggregator);
  CHECK(peer.answers.all<wire::Welcome>()[0].batches);
  const MadeBlock one = block_at(0), two = block_at(one.block.end);
  const std::string batch = wire::encode_batch(
      {wire::encode(info_of(kStream, "run7")), wire::encode(one.templates), wire::encode(one.block),
       wire::encode(two.templates), wire::encode(two.block)});

  peer.session->on_frame(batch);
  aggregator.settle();

  CHECK(peer.answers.all<wire::Ack>().size() == 2);
  CHECK(aggregator.store.all_lines(key_of("run7")).size() == 10);
  peer.session->on_frame(std::string_view(batch).substr(0, batch.size() - 1));
  CHECK(peer.answers.closed.has_value());
}

TEST_CASE("Session: only who reads batches is sent some") {
  Aggregator aggregator;
  Answers answers;
  const auto session = aggregator.hub.connect(answers);
  wire::Hello hello;
  hello.agent = hello.host = "node1";
  hello.block_version = 1;
  session->on_frame(wire::encode(hello));
  CHECK_FALSE(answers.batches);
  session->on_disconnect();

  Answers others;
  const auto other = aggregator.hub.connect(others);
  hello.agent = "node2";
  hello.batches = true;
  other->on_frame(wire::encode(hello));
  CHECK(others.batches);
  other->on_disconnect();
}

TEST_CASE("Session: a stream-open is answered with what is stored") {
  Aggregator aggregator;
  Peer peer(aggregator);
  const MadeBlock made = block_at(0);
  peer.send_block(made);
  aggregator.settle();
  wire::StreamOpen open;
  open.base = kStream.base;
  open.job = "run7";
  peer.send(open);
  aggregator.settle();

  const auto states = peer.answers.all<wire::StreamState>();
  REQUIRE(states.size() == 1);
  REQUIRE(states[0].generations.size() == 1);
  CHECK(states[0].generations[0].ranges == std::vector<Range>{{0, made.block.end}});
}

TEST_CASE("Session: templates travel once a connection, into every job that needs them") {
  Aggregator aggregator;
  Peer peer(aggregator);
  const MadeBlock first = block_at(0);
  peer.send_block(first);
  const MadeBlock second = make_block(stream_of("x"), "other", numbered_lines(0, 5));
  peer.send(info_of(stream_of("x"), "other"));
  peer.send(second.block);
  peer.send(block_at(first.block.end).block);
  aggregator.settle();
  CHECK(peer.answers.all<wire::Ack>().size() == 3);
}

TEST_CASE("Session: what a shard lacks is asked for, and the block is taken afterwards") {
  Aggregator aggregator;
  Peer peer(aggregator);
  const MadeBlock made = block_at(0);
  peer.send(made.block);
  aggregator.settle();
  CHECK(peer.answers.all<wire::Refuse>().back().code == wire::RefuseCode::unknown_stream);
  peer.send(info_of(kStream, "run7"));
  peer.send(made.block);
  aggregator.settle();
  CHECK(peer.answers.all<wire::Refuse>().back().code == wire::RefuseCode::unknown_template);
  peer.send(made.templates);
  peer.send(made.block);
  aggregator.settle();
  CHECK(peer.answers.all<wire::Ack>().size() == 1);
}

TEST_CASE("case 71: Session: a poison block is refused for good and the rest moves on") {
  Aggregator aggregator;
  Peer peer(aggregator);
  MadeBlock bad = block_at(0);
  const MadeBlock good = block_at(bad.block.end);
  bad.block.bytes[bad.block.bytes.size() - 3] ^= 4;
  peer.send_block(bad);
  peer.send_block(good);
  aggregator.settle();

  REQUIRE(peer.answers.has<wire::Refuse>());
  CHECK_FALSE(is_retryable(peer.answers.all<wire::Refuse>()[0].code));
  REQUIRE(peer.answers.all<wire::Ack>().size() == 1);
  CHECK(peer.answers.all<wire::Ack>()[0].first == good.block.first);
}

TEST_CASE("Session: flushed comes after everything that was sent before") {
  Aggregator aggregator;
  Peer peer(aggregator);
  peer.send(wire::Flush{1});
  CHECK(peer.answers.all<wire::Flushed>().size() == 1);
  peer.send_block(block_at(0));
  peer.send(wire::Flush{2});
  CHECK(peer.answers.all<wire::Flushed>().size() == 1);
  aggregator.settle();
  REQUIRE(peer.answers.all<wire::Flushed>().size() == 2);
  CHECK(std::holds_alternative<wire::Flushed>(peer.answers.frames.back()));
  CHECK(peer.answers.has<wire::Ack>());
}

TEST_CASE("Session: a newer connection of an agent waits for the older one's writes") {
  Aggregator aggregator;
  Peer old_one(aggregator);
  const MadeBlock made = block_at(0);
  old_one.send_block(made);

  Peer new_one(aggregator);
  wire::StreamOpen open;
  open.base = kStream.base;
  open.job = "run7";
  new_one.send(open);
  CHECK(old_one.answers.has<wire::Goodbye>());
  CHECK(old_one.answers.closed.has_value());
  aggregator.settle();

  const auto states = new_one.answers.all<wire::StreamState>();
  REQUIRE(states.size() == 1);
  REQUIRE(states[0].generations.size() == 1);
  CHECK(states[0].generations[0].ranges == std::vector<Range>{{0, made.block.end}});
  CHECK_FALSE(old_one.answers.has<wire::Ack>());
  CHECK(aggregator.hub.agents().connected_count() == 1);
}

TEST_CASE("Session: a wrong token or protocol ends it for good, damage ends it for now") {
  Aggregator aggregator;
  SUBCASE("token") {
    Peer peer(aggregator, "node1", "wrong");
    REQUIRE(peer.answers.has<wire::Goodbye>());
    CHECK(peer.answers.all<wire::Goodbye>()[0].retry_after_ms == 0);
  }
  SUBCASE("protocol") {
    Answers answers;
    auto session = aggregator.hub.connect(answers);
    wire::Hello hello;
    hello.protocol = 99;
    hello.agent = "a";
    session->on_frame(wire::encode(hello));
    CHECK(answers.all<wire::Goodbye>()[0].retry_after_ms == 0);
  }
  SUBCASE("before the hello") {
    Answers answers;
    auto session = aggregator.hub.connect(answers);
    session->on_frame(wire::encode(wire::Flush{1}));
    CHECK(answers.all<wire::Goodbye>()[0].retry_after_ms > 0);
  }
  SUBCASE("damage") {
    Peer peer(aggregator);
    peer.session->on_frame(std::string("\x06\xff\xff", 3));
    CHECK(peer.session->ended());
    CHECK(aggregator.hub.stats().protocol_errors == 1);
  }
  SUBCASE("a frame of the other side") {
    Peer peer(aggregator);
    peer.send(wire::Flushed{1});
    CHECK(peer.session->ended());
  }
}

TEST_CASE("Session: tenants come from the token and are apart") {
  Aggregator aggregator;
  Peer a(aggregator, "node1", "tenant-a"), b(aggregator, "node1", "tenant-b");
  a.send_block(block_at(0));
  b.send_block(block_at(0, 7));
  aggregator.settle();
  CHECK(aggregator.store.all_lines(key_of("run7", "tenant-a")).size() == 5);
  CHECK(aggregator.store.all_lines(key_of("run7", "tenant-b")).size() == 7);
  CHECK_FALSE(a.session->ended());
}

TEST_CASE("Session: heartbeats are answered with the clock and kept for status") {
  Aggregator aggregator;
  Peer peer(aggregator);
  wire::Heartbeat beat;
  beat.sent = aggregator.store.clock.wall_now() - 5000;
  beat.streams.push_back(wire::StreamLag{kStream, "run7", 100, 40});
  beat.not_captured.push_back(wire::NotCaptured{"process node1/7 stdout", "pipe", "run7"});
  beat.spool_bytes = 77;
  peer.send(beat);

  REQUIRE(peer.answers.has<wire::ClockReply>());
  CHECK(peer.answers.all<wire::ClockReply>()[0].sent == beat.sent);
  const auto agents = aggregator.hub.agents().all();
  REQUIRE(agents.size() == 1);
  CHECK(agents[0].clock_offset == 5000);
  CHECK(agents[0].spool_bytes == 77);
  CHECK(aggregator.hub.agents().lagging("default", "run7").size() == 1);
  CHECK(aggregator.hub.agents().lagging("default", "other").empty());
  CHECK(aggregator.hub.agents().not_captured("default", "run7").size() == 1);
}

TEST_CASE("Session: a stream is known to be followed from its first block on") {
  Aggregator aggregator;
  Peer peer(aggregator);
  const MadeBlock made = block_at(0);
  peer.send_block(made);
  aggregator.settle();
  auto agents = aggregator.hub.agents().all();
  REQUIRE(agents.size() == 1);
  REQUIRE(agents[0].streams.size() == 1);
  CHECK(agents[0].streams[0].stream == kStream);
  CHECK(agents[0].streams[0].size == made.block.end);
  // The end comes behind the block, and nothing of it is left.
  wire::Closed closed;
  closed.stream = kStream;
  closed.job = "run7";
  peer.send_block(block_at(made.block.end));
  peer.send(closed);
  aggregator.settle();
  CHECK(aggregator.hub.agents().all()[0].streams.empty());
}

TEST_CASE(
    "Session: case 47, a lease goes to the first that asks and passes on when that one falls "
    "silent") {
  Aggregator aggregator;
  Peer a(aggregator, "a"), b(aggregator, "b");
  wire::StreamOpen open;
  open.base = kStream.base;
  open.job = "run7";
  open.lease = true;
  a.send(open);
  b.send(open);
  aggregator.settle();
  CHECK_FALSE(a.answers.all<wire::StreamState>()[0].leased_elsewhere);
  CHECK(b.answers.all<wire::StreamState>()[0].leased_elsewhere);
  b.send_block(block_at(0));
  aggregator.settle();
  CHECK(b.answers.all<wire::Refuse>()[0].code == wire::RefuseCode::not_yours);

  aggregator.store.clock.advance(aggregator.io, std::chrono::minutes(5));
  b.send(open);
  aggregator.settle();
  CHECK_FALSE(b.answers.all<wire::StreamState>()[1].leased_elsewhere);
}

TEST_CASE("Session: past the credit blocks are refused, and a full queue is overloaded") {
  SUBCASE("credit") {
    IngestOptions options;
    options.credit = 10;
    options.max_block = 2000;
    Aggregator aggregator(options);
    Peer peer(aggregator);
    std::uint64_t offset = 0;
    for (int i = 0; i < 20; ++i) {
      const MadeBlock made = block_at(offset);
      offset = made.block.end;
      peer.send_block(made);
    }
    REQUIRE(peer.answers.has<wire::Refuse>());
    CHECK(peer.answers.all<wire::Refuse>()[0].code == wire::RefuseCode::overloaded);
    CHECK(peer.answers.all<wire::Refuse>()[0].retry_after_ms > 0);
  }
  SUBCASE("a peer that does not read") {
    IngestOptions options;
    Aggregator aggregator(options);
    Peer peer(aggregator);
    peer.answers.queued = options.max_unsent + 1;
    peer.send(wire::Flush{1});
    CHECK(peer.session->ended());
  }
}

TEST_CASE("Session: mutated frames never crash it") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Aggregator aggregator;
  const MadeBlock made = block_at(0);
  const std::vector<std::string> frames{wire::encode(info_of(kStream, "run7")),
                                        wire::encode(made.templates), wire::encode(made.block),
                                        wire::encode(wire::Closed{kStream, "run7", 9, "exited"})};
  for (int round = 0; round < 300; ++round) {
    Peer peer(aggregator, "agent" + std::to_string(round % 7));
    for (int i = 0; i < 10 && !peer.session->ended(); ++i) {
      std::string frame = frames[random() % frames.size()];
      if (random() % 2) frame[random() % frame.size()] ^= static_cast<char>(1 << (random() % 8));
      peer.session->on_frame(frame);
    }
  }
  aggregator.settle();
  Peer peer(aggregator, "good");
  peer.send_block(made);
  aggregator.settle();
  CHECK(peer.answers.has<wire::Ack>());
}

}  // namespace
TEST_CASE("Session: what goes into a shard that was removed is not acknowledged into the void") {
  Aggregator aggregator;
  Peer peer(aggregator), idle(aggregator, "node2");
  const MadeBlock first = block_at(0), second = block_at(first.block.end);
  peer.send_block(first);
  aggregator.settle();
  REQUIRE(peer.answers.all<wire::Ack>().size() == 1);
  std::filesystem::remove_all(aggregator.store.path());

  peer.send(second.block);
  aggregator.settle();

  // The session ends, so that the agent compares; a heartbeat is enough for one that sends nothing.
  CHECK(peer.answers.all<wire::Ack>().size() == 1);
  REQUIRE(peer.answers.all<wire::Goodbye>().size() == 1);
  CHECK(peer.answers.all<wire::Goodbye>()[0].retry_after_ms > 0);
  idle.send(wire::Heartbeat{});
  CHECK(idle.answers.has<wire::Goodbye>());
  CHECK(aggregator.hub.stats().ended_after_loss == 2);

  Peer again(aggregator);
  wire::StreamOpen open;
  open.base = kStream.base;
  open.job = "run7";
  again.send(open);
  aggregator.settle();
  REQUIRE(again.answers.all<wire::StreamState>().size() == 1);
  again.send_block(first);
  again.send_block(second);
  aggregator.settle();
  CHECK(again.answers.all<wire::Ack>().size() == 2);
  CHECK(aggregator.store.all_lines(key_of("run7")).size() == 10);
}

TEST_CASE("Session: an agent that says goodbye is not listed any more") {
  Aggregator aggregator;
  Peer peer(aggregator);
  REQUIRE(aggregator.hub.agents().all().size() == 1);
  wire::Goodbye goodbye;
  goodbye.reason = "finished";

  peer.send(goodbye);

  CHECK(aggregator.hub.agents().all().empty());
  CHECK(aggregator.hub.stats().protocol_errors == 0);
  CHECK(peer.answers.closed.has_value());
}

}  // namespace logarithm::aggregator::test
