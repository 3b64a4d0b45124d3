#include "common/line/template.h"
#include "tests/unit/agent/spool/spool_fixture.h"

namespace logarithm::agent::test {
namespace {

const StreamId kA = stream_id(1), kB = stream_id(2);

// Ten lines of 10 bytes, with a template.
EncodedBlock real_block(const StreamId& stream, std::uint64_t first) {
  BlockWriter writer(stream, 0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    Line line;
    line.offset = line.head = first + i * 10;
    line.length = 10;
    line.raw = "line    " + std::to_string(i);
    line.terminator = Terminator::lf;
    line.template_id = template_of(line.raw);
    writer.add(line);
  }
  auto encoded = writer.finish(0);
  REQUIRE(encoded.ok());
  return std::move(*encoded);
}

struct ReviveFixture : SpoolFixture {
  ReviveFixture() {
    options.segment_bytes = 1u << 20;
    options.max_bytes = 8u << 20;
    REQUIRE(open().ok());
  }
  void put(const StreamId& stream, std::uint64_t first) {
    const EncodedBlock block = real_block(stream, first);
    on_file_thread([&](BlockingToken& token) {
      CHECK(spool->append(token, checkpoint_of(stream, first + 100), &block).ok());
    });
  }
  std::vector<Range> revive(const StreamId& stream, std::vector<Range> lost) {
    std::uint64_t next = 0;
    const StreamCheckpoint newest = checkpoint_of(stream, position(stream));
    on_file_thread([&](BlockingToken& token) {
      while (true) {
        const auto more = spool->revive(token, newest, lost, next);
        REQUIRE(more.ok());
        if (!*more) return;
      }
    });
    return lost;
  }
};

}  // namespace

TEST_CASE(
    "Spool: acknowledged blocks that are still there can be had again, with their templates") {
  ReviveFixture f;
  for (std::uint64_t at = 0; at < 300; at += 100) f.put(kA, at);
  f.put(kB, 0);
  SpoolBatch all = f.next();
  f.ack({all.blocks[0].number, all.blocks[1].number, all.blocks[2].number, all.blocks[3].number});
  REQUIRE(f.next().blocks.empty());

  CHECK(f.revive(kA, {{0, 200}}).empty());

  const SpoolBatch again = f.next(all.cursor);
  REQUIRE(again.blocks.size() == 2);
  CHECK(again.blocks[0].block.bytes == all.blocks[0].block.bytes);
  CHECK(again.blocks[1].block.bytes == all.blocks[1].block.bytes);
  CHECK(f.next().blocks[0].templates.size() == all.blocks[0].templates.size());
  CHECK(f.position(kA) == 300);
  CHECK(f.spool->kept(kA).waiting == std::vector<Range>{{0, 100}, {100, 200}});
  CHECK(f.spool->acknowledged(kA, 0));
  CHECK_FALSE(f.spool->acknowledged(kA, 300));
  CHECK(f.spool->stats().revived_blocks == 2);
}

TEST_CASE("Spool: what lies only partly in a lost range, or waits already, is not had again") {
  ReviveFixture f;
  f.put(kA, 0);
  f.put(kA, 100);
  f.ack({f.next().blocks[0].number});

  CHECK(f.revive(kA, {{50, 200}}) == std::vector<Range>{{50, 200}});
  CHECK(f.next().blocks.size() == 1);
}

TEST_CASE("Spool: what was had again survives a kill and is sent once") {
  ReviveFixture f;
  f.put(kA, 0);
  f.put(kA, 100);
  const SpoolBatch all = f.next();
  f.ack({all.blocks[0].number, all.blocks[1].number});
  f.tick();
  REQUIRE(f.revive(kA, {{0, 100}}).empty());

  REQUIRE(f.open().ok());

  REQUIRE(f.next().blocks.size() == 1);
  CHECK(f.next().blocks[0].block.first == 0);
  CHECK(f.position(kA) == 200);
}

TEST_CASE("Spool: the end of a stream is told with every closed record") {
  ReviveFixture f;
  StreamCheckpoint closed = checkpoint_of(kA, 0);
  closed.closed = true;
  for (int i = 0; i < 2; ++i) {
    f.on_file_thread(
        [&](BlockingToken& token) { CHECK(f.spool->append(token, closed, nullptr).ok()); });
    const SpoolBatch batch = f.next();
    REQUIRE(batch.facts.size() == 1);
    f.on_file_thread(
        [&](BlockingToken& token) { f.spool->facts_done(token, {batch.facts[0].id}); });
  }
}

TEST_CASE("Spool: older attribute versions are kept, up to a bound") {
  ReviveFixture f;
  for (std::uint32_t version = 0; version < 40; ++version) {
    StreamCheckpoint checkpoint = checkpoint_of(kA, 10 * (version + 1));
    checkpoint.attributes.version = version;
    checkpoint.attributes.from = 10 * version;
    f.on_file_thread(
        [&](BlockingToken& token) { CHECK(f.spool->append(token, checkpoint, nullptr).ok()); });
  }
  const auto versions = f.spool->kept(kA).versions;
  REQUIRE(versions.size() == 16);
  CHECK(versions.front().version == 24);
  CHECK(versions.back().version == 39);
}

}  // namespace logarithm::agent::test
