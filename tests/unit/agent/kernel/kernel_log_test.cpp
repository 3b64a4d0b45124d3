#include "agent/kernel/kernel_log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>

#include "agent/follow/source_state.h"
#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {
namespace {

// A ring: records from `oldest` on; a reader that falls behind is told so.
class FakeRing final : public KernelSource {
 public:
  Result<Read> next(BlockingToken&) override {
    if (denied) return Error(ErrorCode::io, "permission denied");
    Read out;
    if (at < oldest) {
      at = oldest;
      out.kind = Kind::overwritten;
    } else if (at < oldest + records.size()) {
      out.kind = Kind::record;
      out.record = records[at++ - oldest];
    }
    return out;
  }
  void add(unsigned priority, std::uint64_t micros, const std::string& text,
           const std::string& flag = "-") {
    records.push_back(std::to_string(priority) + "," + std::to_string(oldest + records.size()) +
                      "," + std::to_string(micros) + "," + flag + ";" + text + "\n");
  }
  void overwrite(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++oldest) records.pop_front();
  }
  void rewind() override { at = oldest; }  // as opening the device does

  std::deque<std::string> records;
  std::uint64_t oldest = 0, at = 0;
  bool denied = false;
};

struct Kernel {
  Kernel() { start("boot-1"); }
  void start(const std::string& boot) {
    KernelLogOptions options;
    options.host = "node1";
    options.boot_id = boot;
    ring.rewind();
    kernel =
        std::make_unique<KernelLog>(options, ring, *FollowFixture::rules(), log, oracle, clock);
  }
  Status step() {
    const auto once = [&](BlockingToken& token) { return kernel->step(token); };
    const Status first = pool.run_and_wait(once);
    clock.advance(std::chrono::milliseconds(60));
    const Status second = pool.run_and_wait(once);
    return first.ok() ? second : first;
  }
  const MemoryLog::Stream& stream() { return log.streams[kernel->stream()]; }
  std::vector<std::uint64_t> offsets() {
    std::vector<std::uint64_t> out;
    for (const Line& line : stream().lines) out.push_back(line.offset);
    return out;
  }

  FakeRing ring;
  MemoryLog log;
  MemoryOracle oracle;
  FollowClock clock;
  WorkerPool pool{1};
  std::unique_ptr<KernelLog> kernel;
};

}  // namespace

TEST_CASE(
    "KernelLog: a record is a line whose offset is its number, with level, time and facility") {
  Kernel f;
  f.ring.add(6, 1'500'000, "Linux version 6.1");
  f.ring.add(3, 2'000'000, "NVRM: Xid (PCI:0000:0a:00): 79, GPU has fallen off the bus.");
  REQUIRE(f.step().ok());
  const std::vector<Line>& lines = f.stream().lines;
  REQUIRE(lines.size() == 2);
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1});
  CHECK(text_of(lines[0]) == "Linux version 6.1");
  CHECK(lines[0].severity == Severity::info);
  CHECK(lines[1].severity == Severity::error);
  CHECK(lines[1].time - lines[0].time == 500'000'000);
  CHECK(!lines[0].has(line_flag::derived_time));
  const UnixNanos boot = f.clock.wall_now() - f.clock.now().time_since_epoch().count();
  CHECK(lines[0].time == boot + 1'500'000'000);
  bool facility = false;
  for (const MetaPair& pair : lines[0].meta) {
    facility = facility || (pair.key == "facility" && pair.value == MetaValue("kern"));
  }
  CHECK(facility);
  const StreamAttributes& attributes = f.stream().checkpoint.attributes;
  CHECK(attributes.job == "_host");
  CHECK(attributes.name == "kernel");
  CHECK(attributes.host == "node1");
  CHECK(f.stream().checkpoint.position == 2);
  CHECK(f.log.problems.empty());
}

TEST_CASE("KernelLog: after a restart of the agent it goes on, after one of the host anew") {
  Kernel f;
  for (int i = 0; i < 5; ++i) f.ring.add(6, 1000, "line " + std::to_string(i));
  REQUIRE(f.step().ok());
  f.start("boot-1");
  f.ring.add(6, 2000, "line 5");
  REQUIRE(f.step().ok());
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(f.log.problems.empty());

  const StreamId first = f.kernel->stream();
  f.ring = FakeRing();
  f.start("boot-2");
  f.ring.add(6, 10, "line 0");
  REQUIRE(f.step().ok());
  CHECK(f.kernel->stream() != first);
  CHECK(f.offsets() == std::vector<std::uint64_t>{0});
  CHECK(f.log.streams[first].checkpoint.closed);
  CHECK(f.log.streams[first].checkpoint.close_reason == "reboot");
  CHECK(f.log.streams[first].checkpoint.close_size == 6);
}

TEST_CASE("KernelLog: what the ring overwrote is a gap with its reason") {
  Kernel f;
  for (int i = 0; i < 10; ++i) f.ring.add(6, 1000, "line " + std::to_string(i));
  f.ring.overwrite(3);  // before anybody read
  REQUIRE(f.step().ok());
  for (int i = 0; i < 10; ++i) f.ring.add(6, 1000, "more " + std::to_string(i));
  f.ring.overwrite(12);  // five of those that were not read
  REQUIRE(f.step().ok());
  REQUIRE(!f.stream().blocks.empty());
  CHECK(f.stream().blocks.front().first == 0);
  CHECK(f.stream().blocks.back().end == 20);
  std::vector<Range> gaps;
  for (const BlockHeader& header : f.stream().blocks) {
    for (const Gap& gap : header.gaps) {
      CHECK(gap.reason == "kernel_ring");
      gaps.push_back(Range{gap.from, gap.to.value_or(0)});
    }
  }
  CHECK(gaps == std::vector<Range>{{0, 3}, {10, 15}});
  CHECK(f.stream().lines.size() == 12);
  CHECK(f.kernel->stats().overwritten == 2);
  CHECK(f.log.problems.empty());
}

TEST_CASE("KernelLog: a full spool pauses reading, and nothing is lost or repeated") {
  Kernel f;
  f.ring.add(6, 1000, "one");
  f.log.full = true;
  CHECK(f.step().error().code() == ErrorCode::no_space);
  f.ring.add(6, 1000, "two");
  CHECK(f.step().error().code() == ErrorCode::no_space);
  CHECK(f.ring.at == 1);
  f.log.full = false;
  CHECK(f.step().ok());
  CHECK(f.step().ok());
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("KernelLog: what the aggregator lost is read from the ring again, or is a gap") {
  Kernel f;
  for (int i = 0; i < 10; ++i) f.ring.add(6, 1000, "line " + std::to_string(i));
  REQUIRE(f.step().ok());
  f.ring.overwrite(4);
  f.ring.add(6, 2000, "line 10");
  f.oracle.sessions_begun = 1;  // knows nothing any more
  for (int i = 0; i < 4; ++i) REQUIRE(f.step().ok());
  std::vector<std::uint64_t> again;
  for (const Line& line : f.stream().again) again.push_back(line.offset);
  CHECK(again == std::vector<std::uint64_t>{4, 5, 6, 7, 8, 9});
  CHECK(text_of(f.stream().again[0]) == "line 4");
  REQUIRE(f.stream().again_blocks.size() == 1);
  const BlockHeader& header = f.stream().again_blocks[0];
  CHECK(header.first == 0);
  CHECK(header.end == 10);
  REQUIRE(header.gaps.size() == 1);
  CHECK(header.gaps[0].to == 4);
  CHECK(header.gaps[0].reason == "store_lost");
  CHECK(f.offsets() == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(f.kernel->stats().records == 11);
  CHECK(f.log.problems.empty());

  SUBCASE("not again in the same session") {
    for (int i = 0; i < 4; ++i) REQUIRE(f.step().ok());
    CHECK(f.stream().again.size() == 6);
  }
  SUBCASE("only what is missing, and a full log only delays it") {
    StoredGeneration have;
    have.ranges = {{0, 6}, {8, 11}};
    f.oracle.stored[f.kernel->stream().base] = {have};
    f.oracle.sessions_begun = 2;
    f.log.full = true;
    // No room, or nothing to write yet: any other error would be one.
    for (int i = 0; i < 3; ++i) {
      const Status step = f.step();
      CHECK((step.ok() || step.error().code() == ErrorCode::no_space));
    }
    f.log.full = false;
    for (int i = 0; i < 4; ++i) REQUIRE(f.step().ok());
    REQUIRE(f.stream().again.size() == 8);
    CHECK(f.stream().again[6].offset == 6);
    CHECK(f.stream().again[7].offset == 7);
  }
  SUBCASE("what the log still has is not read from the ring") {
    f.log.revivable = {{0, 11}};
    f.oracle.sessions_begun = 2;
    for (int i = 0; i < 5; ++i) REQUIRE(f.step().ok());
    CHECK(f.stream().again.size() == 6);
  }
  SUBCASE("the ring holds nothing of it") {
    f.ring.overwrite(7);
    f.oracle.sessions_begun = 2;
    for (int i = 0; i < 5; ++i) REQUIRE(f.step().ok());
    CHECK(f.stream().again.size() == 6);
    REQUIRE(f.stream().gaps.size() == 1);
    CHECK(f.stream().gaps[0].from == 0);
    CHECK(f.stream().gaps[0].to == 11);
  }
  SUBCASE("of a former boot: a gap, and its end again") {
    const StreamId first = f.kernel->stream();
    f.ring = FakeRing();
    f.start("boot-2");
    f.oracle.sessions_begun = 2;
    for (int i = 0; i < 5; ++i) REQUIRE(f.step().ok());
    REQUIRE(f.log.streams[first].gaps.size() == 1);
    CHECK(f.log.streams[first].gaps[0].to == 11);
    CHECK(f.log.streams[first].closed_told == 3);  // the reboot, with the gap, and by itself
  }
}

TEST_CASE("KernelLog: without the right it is said what is missing, and tried again") {
  Kernel f;
  f.ring.denied = true;
  CHECK(f.step().ok());
  CHECK(f.kernel->problem() == "permission denied");
  CHECK(!f.kernel->lag());
  f.ring.denied = false;
  f.ring.add(6, 1000, "one");
  f.clock.advance(std::chrono::seconds(11));
  CHECK(f.step().ok());
  CHECK(!f.kernel->problem());
  REQUIRE(f.kernel->lag());
  CHECK(f.kernel->lag()->size == 1);
  CHECK(f.kernel->lag()->offset == 1);
}

TEST_CASE("KernelLog: a fragment goes on with the line before it") {
  Kernel f;
  f.ring.add(4, 1000, "begin", "c");
  f.ring.add(4, 1000, "middle", "+");
  f.ring.add(4, 1000, "end", "+");
  f.ring.add(6, 1000, "another");
  REQUIRE(f.step().ok());
  const std::vector<Line>& lines = f.stream().lines;
  REQUIRE(lines.size() == 4);
  CHECK(lines[2].has(line_flag::continuation));
  CHECK(lines[2].head == 0);
  CHECK(lines[3].head == 3);
}

TEST_CASE("KernelLog: the stream is nothing that the follower looks for") {
  Kernel f;
  f.ring.add(6, 1000, "one");
  REQUIRE(f.step().ok());
  CHECK(parse_source_state(f.stream().checkpoint.source).kernel == "boot-1");
  FollowFixture follow;
  follow.log.streams = f.log.streams;
  follow.follower().set_targets({});
  for (int i = 0; i < 20; ++i) follow.run(std::chrono::seconds(1));
  CHECK(!follow.log.streams[f.kernel->stream()].checkpoint.closed);
}

TEST_CASE("KmsgSource: a record a read, nothing while there is none, and a reason when denied") {
  WorkerPool pool{1};
  TempDir dir;
  KmsgSource missing(dir.file("no such device"));
  CHECK(!pool.run_and_wait([&](BlockingToken& token) { return missing.next(token); }).ok());

  const std::string path = dir.file("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  KmsgSource source(path);
  const auto next = [&] {
    return pool.run_and_wait([&](BlockingToken& token) { return source.next(token); });
  };
  CHECK(next()->kind == KernelSource::Kind::nothing);  // no writer
  const int writer = ::open(path.c_str(), O_WRONLY);
  REQUIRE(writer >= 0);
  CHECK(next()->kind == KernelSource::Kind::nothing);
  REQUIRE(::write(writer, "6,1,1,-;a\n", 10) == 10);
  const auto read = next();
  CHECK(read->kind == KernelSource::Kind::record);
  CHECK(read->record == "6,1,1,-;a\n");
  ::close(writer);
}

}  // namespace logarithm::test
