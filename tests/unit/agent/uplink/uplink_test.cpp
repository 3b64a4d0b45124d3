#include "agent/uplink/uplink.h"

#include <algorithm>

#include "tests/unit/agent/uplink/uplink_fixture.h"

namespace logarithm::agent::test {
namespace {

using namespace std::chrono_literals;
const StreamId kA = stream_id(1), kB = stream_id(2);

template <typename T>
std::size_t index_of(const std::vector<wire::Frame>& frames, std::size_t nth = 0) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (std::holds_alternative<T>(frames[i]) && nth-- == 0) return i;
  }
  return frames.size();
}

}  // namespace

TEST_CASE("Uplink: nothing but the hello is sent before the welcome") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.start();
  REQUIRE(f.peer().sent.size() == 1);
  CHECK(std::get<wire::Hello>(f.peer().sent[0]).host == "host");
}

TEST_CASE("Uplink: stream and templates are told before the block that needs them") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10, {1}).ok());
  REQUIRE(f.append(kA, 10, 20, {1, 2}).ok());
  f.start();
  f.welcome();

  const auto& sent = f.peer().sent;
  CHECK(index_of<wire::StreamInfo>(sent) < index_of<wire::Block>(sent));
  CHECK(index_of<wire::Templates>(sent) < index_of<wire::Block>(sent));
  const auto templates = f.peer().all<wire::Templates>();
  REQUIRE(templates.size() == 2);
  CHECK(templates[1].templates.size() == 1);
  CHECK(f.blocks().size() == 2);
}

TEST_CASE("Uplink: case 75, the spool keeps a block until it is acked, over reconnects, in order") {
  UplinkFixture f;
  for (std::uint64_t at = 0; at < 50; at += 10) REQUIRE(f.append(kA, at, at + 10).ok());
  f.start();
  f.welcome();
  REQUIRE(f.blocks().size() == 5);
  f.ack_of(f.blocks()[1]);
  CHECK(f.spool->stats().unacked_blocks == 4);

  f.peer().cut();
  f.settle();
  f.advance(1001ms);
  f.welcome();

  const auto again = f.blocks();
  REQUIRE(again.size() == 4);
  CHECK(again[0].first == 0);
  CHECK(again[1].first == 20);
  for (const wire::Block& block : again) f.ack_of(block);
  CHECK(f.spool->stats().unacked_blocks == 0);
}

TEST_CASE("Uplink: no more bytes are in flight than the credit") {
  UplinkFixture f;
  for (std::uint64_t at = 0; at < 100; at += 10) REQUIRE(f.append(kA, at, at + 10).ok());
  const std::size_t one = block_of(kA, 0, 10).bytes.size();
  f.start();
  f.welcome(3 * one + 10);

  CHECK(f.blocks().size() <= 4);
  const std::size_t before = f.blocks().size();
  f.ack_of(f.blocks()[0]);
  CHECK(f.blocks().size() == before + 1);
}

TEST_CASE("Uplink: new data is sent as it comes") {
  UplinkFixture f;
  f.start();
  f.welcome();
  CHECK(f.blocks().empty());
  REQUIRE(f.append(kA, 0, 10).ok());
  f.settle();
  CHECK(f.blocks().size() == 1);
}

TEST_CASE("Uplink: unknown_template is answered with the definitions, then the block") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10, {1, 2}).ok());
  f.start();
  f.welcome();
  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::unknown_template));

  const auto& sent = f.peer().sent;
  REQUIRE(f.blocks().size() == 2);
  const std::size_t definitions = index_of<wire::Templates>(sent, 1);
  CHECK(definitions < index_of<wire::Block>(sent, 1));
  CHECK(std::get<wire::Templates>(sent[definitions]).templates.size() == 2);
}

TEST_CASE("Uplink: unknown_stream is answered with the stream's facts, then the block") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.start();
  f.welcome();
  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::unknown_stream));

  const auto& sent = f.peer().sent;
  REQUIRE(f.blocks().size() == 2);
  CHECK(index_of<wire::StreamInfo>(sent, 1) < index_of<wire::Block>(sent, 1));
}

TEST_CASE("Uplink: overload pauses all sending for the time asked, then goes on in order") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  REQUIRE(f.append(kA, 10, 20).ok());
  f.start();
  f.welcome();
  const auto first = f.blocks();
  auto refuse = f.refuse_of(first[0], wire::RefuseCode::overloaded);
  refuse.retry_after_ms = 700;
  f.say(refuse);
  refuse = f.refuse_of(first[1], wire::RefuseCode::overloaded);
  refuse.retry_after_ms = 700;
  f.say(refuse);
  REQUIRE(f.append(kA, 20, 30).ok());
  f.advance(600ms);
  CHECK(f.blocks().size() == 2);

  f.advance(200ms);

  const auto all = f.blocks();
  REQUIRE(all.size() == 5);
  CHECK(all[2].first == 0);
  CHECK(all[3].first == 10);
  CHECK(all[4].first == 20);
}

TEST_CASE("Uplink: case 71, a poison block goes to the dead letter and the rest moves on") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  REQUIRE(f.append(kA, 10, 20).ok());
  f.start();
  f.welcome();
  const auto sent = f.blocks();
  f.say(f.refuse_of(sent[0], wire::RefuseCode::corrupt));
  f.ack_of(sent[1]);

  CHECK(f.spool->stats().dead_letters == 1);
  CHECK(f.spool->stats().unacked_blocks == 0);
  const auto gaps = f.peer().all<wire::GapReport>();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].gap.reason == "refused");
  CHECK(gaps[0].gap.from == 0);
  CHECK(gaps[0].gap.to == 10);
}

TEST_CASE("Uplink: a block that is refused again and again does not hold up the rest for ever") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.start();
  f.welcome();
  for (int i = 0; i < 20; ++i) {
    f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::unknown_template));
  }
  CHECK(f.spool->stats().unacked_blocks == 0);
  CHECK(f.spool->stats().dead_letters == 1);
}

TEST_CASE("Uplink: a range that is stored already counts as acked") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.start();
  f.welcome();
  auto refuse = f.refuse_of(f.blocks()[0], wire::RefuseCode::overlap);
  refuse.resume_at = 10;
  f.say(refuse);
  CHECK(f.spool->stats().unacked_blocks == 0);
  CHECK(f.spool->stats().dead_letters == 0);
}

TEST_CASE("Uplink: another agent's stream is dropped quietly and follow is told") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.start();
  f.welcome();
  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::not_yours));
  CHECK(f.spool->stats().unacked_blocks == 0);
  REQUIRE(f.uplink->answer(kA.base, "job").has_value());
  CHECK(f.uplink->answer(kA.base, "job")->leased_elsewhere);
}

TEST_CASE("Uplink: facts are kept until a flush says that they are stored") {
  UplinkFixture f;
  ProcessInfo process;
  process.job = "job";
  f.on_file_thread(
      [&](BlockingToken& token) { CHECK(f.spool->append_processes(token, {process}).ok()); });
  f.start();
  f.welcome();
  CHECK(f.peer().all<wire::Processes>().size() == 1);
  REQUIRE(f.peer().all<wire::Flush>().size() == 1);
  f.peer().cut();
  f.settle();
  f.advance(1001ms);
  f.welcome();
  CHECK(f.peer().all<wire::Processes>().size() == 1);
  CHECK(!f.spool->drained());

  f.flush_all();

  CHECK(f.spool->drained());
  CHECK(f.uplink->idle());
}

TEST_CASE("Uplink: questions are asked again after a reconnect until they are answered") {
  UplinkFixture f;
  f.start();
  f.welcome();
  f.uplink->ask(kA.base, "job");
  f.settle();
  CHECK(f.peer().all<wire::StreamOpen>().size() == 1);
  CHECK(!f.uplink->answer(kA.base, "job").has_value());
  f.peer().cut();
  f.settle();
  f.advance(1001ms);
  f.welcome();
  REQUIRE(f.peer().all<wire::StreamOpen>().size() == 1);

  wire::StreamState state;
  state.base = kA.base;
  state.job = "job";
  f.say(state);

  CHECK(f.uplink->answer(kA.base, "job").has_value());
  f.peer().cut();
  f.settle();
  f.advance(2001ms);
  f.welcome();
  CHECK(f.peer().all<wire::StreamOpen>().empty());
}

TEST_CASE("Uplink: heartbeats go out every second and tell the clock's offset") {
  UplinkFixture f;
  f.start();
  f.welcome();
  CHECK(f.peer().all<wire::Heartbeat>().size() == 1);
  f.advance(1001ms);
  REQUIRE(f.peer().all<wire::Heartbeat>().size() == 2);
  const UnixNanos sent = f.peer().all<wire::Heartbeat>()[1].sent;
  f.clock.set_wall(sent + 1000);  // the round trip
  wire::ClockReply reply;
  reply.sent = sent;
  reply.received = reply.replied = sent + 5500;
  f.say(reply);
  CHECK(f.uplink->stats().clock_offset == 5000);
  CHECK(f.uplink->stats().clock_error == 500);
}

TEST_CASE("Uplink: case 74, hurry ends the wait, tries once and ends") {
  UplinkFixture f;
  REQUIRE(f.append(kA, 0, 10).ok());
  f.transport.up = false;
  f.start(7);
  for (int i = 0; i < 6; ++i) f.advance(40s);
  const int before = f.transport.attempts;

  f.uplink->hurry();
  f.settle();

  CHECK(f.transport.attempts == before + 1);
  CHECK(f.ended);
  CHECK(f.spool->stats().unacked_blocks == 1);
}

TEST_CASE("Uplink: a connection that breaks at any send loses and repeats nothing that was acked") {
  for (std::int64_t nth = 0; nth < 40; ++nth) {
    CAPTURE(nth);
    UplinkFixture f;
    std::vector<Range> stored;
    bool first = true;
    f.transport.made = [&](FakeConnection& connection) {
      answer_everything(connection, stored);
      if (std::exchange(first, false)) connection.fail_send = nth;
    };
    for (std::uint64_t at = 0; at < 80; at += 10) {
      REQUIRE(f.append(kA, at, at + 10, {at % 3 + 1}).ok());
    }
    StreamCheckpoint closed = checkpoint_of(kA, 80);
    closed.closed = true;
    f.on_file_thread(
        [&](BlockingToken& token) { CHECK(f.spool->append(token, closed, nullptr).ok()); });
    f.start();
    for (int i = 0; i < 5; ++i) f.advance(1001ms);

    CHECK(f.spool->drained());
    std::sort(stored.begin(), stored.end());
    stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
    CHECK(stored.size() == 8);
  }
}

}  // namespace logarithm::agent::test
