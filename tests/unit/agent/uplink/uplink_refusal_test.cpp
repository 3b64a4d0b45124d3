#include <algorithm>

#include "common/block/block_reader.h"
#include "common/line/template.h"
#include "tests/unit/agent/uplink/uplink_fixture.h"

// Blocks that can be decoded, and an aggregator that does not want them as they are.
namespace logarithm::agent::test {
namespace {

using namespace std::chrono_literals;
const StreamId kA = stream_id(1);

// `count` lines of 20 bytes.
EncodedBlock lines_block(std::uint64_t first, std::uint64_t count) {
  BlockWriter writer(kA, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    Line line;
    line.offset = line.head = first + i * 20;
    line.length = 20;
    std::string number = std::to_string(first / 20 + i);
    line.raw = "step " + std::string(8 - number.size(), '0') + number + " done.";
    line.terminator = Terminator::lf;
    line.template_id = template_of(line.raw);
    writer.add(line);
  }
  auto encoded = writer.finish(0);
  REQUIRE(encoded.ok());
  return std::move(*encoded);
}

struct RefusalFixture : UplinkFixture {
  void put(const EncodedBlock& block) {
    const StreamCheckpoint checkpoint = checkpoint_of(kA, block.header.end);
    on_file_thread(
        [&](BlockingToken& token) { CHECK(spool->append(token, checkpoint, &block).ok()); });
  }
  std::size_t gaps() { return peer().all<wire::GapReport>().size(); }
};

}  // namespace

TEST_CASE("Uplink: a fingerprint with another text is sent again plain, and is no gap") {
  RefusalFixture f;
  f.put(lines_block(0, 50));
  f.put(lines_block(1000, 50));
  f.start();
  f.welcome();
  REQUIRE(f.blocks().size() == 2);

  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::template_conflict));

  REQUIRE(f.blocks().size() == 3);
  const wire::Block plain = f.blocks()[2];
  CHECK(plain.first == 0);
  CHECK(plain.end == 1000);
  const auto reader = BlockReader::open(plain.bytes);
  REQUIRE(reader.ok());
  CHECK(reader->header().stored_templates.empty());
  CHECK(reader->header().lines == 50);
  f.ack_of(plain);
  f.ack_of(f.blocks()[1]);
  CHECK(f.spool->stats().unacked_blocks == 0);
  CHECK(f.spool->stats().dead_letters == 0);
  CHECK(f.uplink->stats().sent_plain == 1);
  CHECK(f.gaps() == 0);
}

TEST_CASE("Uplink: an overlap with a plain block is cut again plain") {
  RefusalFixture f;
  f.put(lines_block(0, 50));
  f.start();
  f.welcome();
  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::template_conflict));
  auto overlap = f.refuse_of(f.blocks()[1], wire::RefuseCode::overlap);
  overlap.resume_at = 200;
  f.say(overlap);

  REQUIRE(f.blocks().size() == 3);
  const auto reader = BlockReader::open(f.blocks()[2].bytes);
  REQUIRE(reader.ok());
  CHECK(reader->header().first == 200);
  CHECK(reader->header().stored_templates.empty());
}

TEST_CASE("Uplink: what is refused plain too goes to the dead letter with a gap, once") {
  RefusalFixture f;
  f.put(lines_block(0, 50));
  f.put(lines_block(1000, 50));
  f.start();
  f.welcome();
  const wire::RefuseCode code = wire::RefuseCode::corrupt;
  f.say(f.refuse_of(f.blocks()[0], code));
  f.say(f.refuse_of(f.blocks()[2], code));
  f.ack_of(f.blocks()[1]);

  CHECK(f.spool->stats().dead_letters == 1);
  CHECK(f.spool->stats().unacked_blocks == 0);
  REQUIRE(f.gaps() == 1);
  CHECK(f.peer().all<wire::GapReport>()[0].gap.from == 0);
  CHECK(f.peer().all<wire::GapReport>()[0].gap.to == 1000);
}

TEST_CASE("Uplink: no block is larger than the welcome allows, and pieces follow one another") {
  RefusalFixture f;
  const EncodedBlock block = lines_block(0, 2000);
  f.put(block);
  f.put(lines_block(40000, 10));
  f.start();
  wire::Welcome welcome;
  welcome.credit = 1u << 20;
  welcome.max_block = static_cast<std::uint32_t>(block.bytes.size() / 3);
  f.say(welcome);

  for (int i = 0; i < 20 && f.spool->stats().unacked_blocks > 0; ++i) {
    const auto all = f.blocks();
    for (const wire::Block& sent : all) f.ack_of(sent);
  }
  auto all = f.blocks();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  CHECK(all.size() >= 4);
  std::uint64_t at = 0;
  for (const wire::Block& sent : all) {
    CHECK(sent.bytes.size() <= welcome.max_block);
    CHECK(sent.first == at);
    at = sent.end;
  }
  CHECK(at == 40200);
  CHECK(f.spool->stats().unacked_blocks == 0);
  CHECK(f.spool->stats().dead_letters == 0);
}

TEST_CASE("Uplink: a block that is refused for its size is sent in smaller pieces") {
  RefusalFixture f;
  f.put(lines_block(0, 2000));
  f.start();
  f.welcome();
  const std::size_t size = f.blocks()[0].bytes.size();

  f.say(f.refuse_of(f.blocks()[0], wire::RefuseCode::too_large));

  REQUIRE(f.blocks().size() == 2);
  CHECK(f.blocks()[1].first == 0);
  CHECK(f.blocks()[1].bytes.size() <= size / 2);
  f.ack_of(f.blocks()[1]);
  REQUIRE(f.blocks().size() == 3);
  CHECK(f.blocks()[2].first == f.blocks()[1].end);
  CHECK(f.gaps() == 0);
}

TEST_CASE("Uplink: a refusal for good ends a run that is there once, and is told") {
  RefusalFixture f;
  f.once = true;
  f.start();
  wire::Goodbye never;
  never.reason = "no such token";
  f.say(never);

  CHECK(f.ended);
  REQUIRE(f.uplink->last_error().has_value());
  CHECK(f.uplink->last_error()->message().find("no such token") != std::string::npos);
  CHECK(f.transport.attempts == 1);
}

TEST_CASE("Uplink: an upgrade that is refused for good ends a run that is there once") {
  RefusalFixture f;
  f.once = true;
  f.transport.up = false;
  f.transport.refusal = Error(ErrorCode::invalid, "401 Unauthorized");
  f.start();

  CHECK(f.ended);
  CHECK(f.transport.attempts == 1);
}

TEST_CASE("Uplink: an agent that does not come back says goodbye") {
  for (const bool for_good : {false, true}) {
    CAPTURE(for_good);
    RefusalFixture f;
    f.start();
    f.welcome();
    f.uplink->stop(for_good);
    f.settle();

    CHECK(f.peer().all<wire::Goodbye>().size() == (for_good ? 1 : 0));
    CHECK(f.peer().closed);
  }
}

}  // namespace logarithm::agent::test
