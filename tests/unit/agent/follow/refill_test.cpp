#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {
namespace {

// One file of 100 lines that is read, acknowledged and then asked about.
class RefillFixture : public FollowFixture {
 public:
  explicit RefillFixture(const std::string& text = numbered(0, 100)) {
    append("a.log", text);
    glob("a.log");
    run();
    id = log.streams.begin()->first;
    end = log.streams[id].checkpoint.position;
  }
  MemoryLog::Stream& stream() { return log.streams[id]; }
  // A new session in which the aggregator says that it holds this.
  void holds(std::vector<Range> ranges, std::vector<Range> lost = {}, bool closed = false) {
    StoredGeneration generation;
    generation.generation = id.generation;
    generation.ranges = std::move(ranges);
    generation.lost = std::move(lost);
    generation.closed = closed;
    oracle.stored[id.base] = {generation};
    next_session();
  }
  void holds_nothing() {
    oracle.stored[id.base] = {};
    next_session();
  }
  void next_session() {
    ++oracle.sessions_begun;
    run();
    clock.advance(std::chrono::seconds(2));
    run();
  }
  std::string again() {
    std::string out;
    for (const Line& line : stream().again)
      out += line.raw + std::string(bytes_of(line.terminator));
    return out;
  }
  std::uint64_t offset_of(int line) { return numbered(0, line).size(); }

  StreamId id;
  std::uint64_t end = 0;
};

}  // namespace

TEST_CASE("Refill: a live file that the aggregator lost is read again once, then goes on") {
  RefillFixture fixture;

  fixture.holds_nothing();
  CHECK(fixture.again() == numbered(0, 100));
  CHECK(fixture.follower().take_store_lost());
  CHECK_FALSE(fixture.follower().take_store_lost());

  fixture.append("a.log", numbered(100, 5));
  fixture.run();
  CHECK(fixture.stream().lines.size() == 105);
  fixture.holds({{0, fixture.offset_of(105)}});
  CHECK(fixture.again() == numbered(0, 100));
  CHECK(fixture.gaps().empty());
  CHECK(fixture.log.problems == std::vector<std::string>());
}

TEST_CASE("Refill: only what is missing is read again") {
  RefillFixture fixture;

  fixture.holds({{0, fixture.offset_of(10)}, {fixture.offset_of(40), fixture.end}});

  CHECK(fixture.again() == numbered(10, 30));
  REQUIRE(fixture.stream().again_blocks.size() == 1);
  CHECK(fixture.stream().again_blocks[0].first == fixture.offset_of(10));
  CHECK(fixture.stream().again_blocks[0].end == fixture.offset_of(40));
}

TEST_CASE("Refill: nothing is read again that is stored, on its way, or known to be missing") {
  RefillFixture fixture;

  SUBCASE("stored") { fixture.holds({{0, fixture.end}}); }
  SUBCASE("on its way") {
    fixture.log.waiting[fixture.id] = {{fixture.offset_of(50), fixture.end}};
    fixture.holds({{0, fixture.offset_of(50)}});
  }
  SUBCASE("a gap that was told") {
    fixture.holds({{0, fixture.offset_of(50)}}, {{fixture.offset_of(50), fixture.end}});
  }
  SUBCASE("no answer yet") {
    fixture.oracle.connected = false;
    fixture.next_session();
  }

  CHECK(fixture.again().empty());
  CHECK(fixture.gaps().empty());
  CHECK(fixture.follower().stats().store_losses == 0);
}

TEST_CASE("Refill: what the log still has is not read from the file") {
  RefillFixture fixture;
  fixture.log.revivable = {{0, fixture.offset_of(99)}};

  fixture.holds_nothing();

  CHECK(fixture.again() == numbered(99, 1));
}

TEST_CASE("Refill: bytes that nobody has any more become a gap with a reason, told once") {
  RefillFixture fixture;
  const auto lost = [&] {
    fixture.holds({{fixture.offset_of(90), fixture.end}});
    for (int i = 0; i < 8; ++i) {
      fixture.clock.advance(std::chrono::seconds(1));
      fixture.run();
    }
  };
  SUBCASE("deleted while the agent was away") {
    fixture.kill();
    fixture.remove("a.log");
    fixture.follower().set_targets({});
    lost();
  }
  SUBCASE("cut") {
    fixture.cut("a.log");
    fixture.append("a.log", "another run\n");
    fixture.run();
    lost();
  }

  const auto told = [&] {
    return std::count_if(
        fixture.stream().gaps.begin(), fixture.stream().gaps.end(), [&](const Gap& gap) {
          return gap.reason == "store_lost" && gap.from == 0 && gap.to == fixture.offset_of(90);
        });
  };
  CHECK(told() == 1);
  CHECK(fixture.again().empty());
  fixture.holds({{fixture.offset_of(90), fixture.end}}, {{0, fixture.offset_of(90)}}, true);
  CHECK(told() == 1);
}

TEST_CASE("Refill: a deleted file that is still open is read again") {
  RefillFixture fixture;
  fixture.remove("a.log");

  fixture.holds_nothing();

  CHECK(fixture.again() == numbered(0, 100));
}

TEST_CASE("Refill: a closed stream is read again under its new name, and its end told again") {
  RefillFixture fixture;
  fixture.rename("a.log", "a.log.1");
  fixture.follower().set_targets({});
  for (int i = 0; i < 12; ++i) {
    fixture.clock.advance(std::chrono::seconds(1));
    fixture.run();
  }
  REQUIRE(fixture.stream().checkpoint.closed);
  const std::size_t told = fixture.stream().closed_told;

  fixture.holds_nothing();
  CHECK(fixture.again() == numbered(0, 100));
  CHECK(fixture.stream().closed_told > told);
  CHECK(fixture.stream().checkpoint.closed);

  const std::size_t after = fixture.stream().closed_told;
  fixture.holds({{0, fixture.end}}, {}, true);
  CHECK(fixture.stream().closed_told == after);
  fixture.holds({{0, fixture.end}}, {}, false);  // only the end is lost
  CHECK(fixture.stream().closed_told == after + 1);
  CHECK(fixture.again() == numbered(0, 100));
}

TEST_CASE("Refill: lines keep the attribute version that they had") {
  RefillFixture fixture;
  FollowTarget second = fixture.target("a.log");
  second.process = "node1/7/9";
  second.rank = 3;
  FollowTarget first = second;
  first.process = "node1/5/1";
  first.rank = 1;
  fixture.follower().set_targets({first});
  fixture.run();
  fixture.append("a.log", numbered(100, 10));
  fixture.run();
  fixture.follower().set_targets({second});
  fixture.run();
  fixture.append("a.log", numbered(110, 10));
  fixture.run();
  const auto newest = fixture.stream().checkpoint.attributes;
  REQUIRE(newest.version > 0);

  fixture.holds_nothing();

  CHECK(fixture.again() == numbered(0, 120));
  for (const BlockHeader& block : fixture.stream().again_blocks) {
    CHECK((block.first >= newest.from) == (block.attributes_version == newest.version));
  }
}

TEST_CASE("Refill: a full log pauses it, and nothing is left out or twice") {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "line " + std::to_string(i) + " of the run\n";
  RefillFixture fixture(text);
  fixture.oracle.stored[fixture.id.base] = {};
  ++fixture.oracle.sessions_begun;

  for (int i = 0; i < 200; ++i) {
    fixture.log.full = i % 3 != 0;
    fixture.step();
    fixture.clock.advance(std::chrono::milliseconds(250));
  }

  CHECK(fixture.again() == text);
}

TEST_CASE("Refill: a read that fails is tried again") {
  RefillFixture fixture;
  fixture.oracle.stored[fixture.id.base] = {};
  ++fixture.oracle.sessions_begun;
  fixture.fs.calls = 0;
  int fail_at = 0;
  SUBCASE("early") { fail_at = 1; }
  SUBCASE("at the read") { fail_at = 4; }
  SUBCASE("at the confirmation") { fail_at = 7; }
  fixture.fs.fail_at = fail_at;

  for (int i = 0; i < 10; ++i) {
    fixture.run();
    fixture.clock.advance(std::chrono::seconds(1));
  }

  CHECK(fixture.again() == numbered(0, 100));
  CHECK(fixture.gaps().empty());
}

TEST_CASE(
    "Refill: a run that reads to the end once is not finished before the aggregator was asked") {
  RefillFixture fixture;
  fixture.kill();
  fixture.options.once = true;
  fixture.glob("a.log");
  fixture.run();
  CHECK_FALSE(fixture.follower().finished());

  fixture.holds_nothing();
  CHECK(fixture.again() == numbered(0, 100));
  fixture.run();
  CHECK(fixture.follower().finished());
}

}  // namespace logarithm::test
