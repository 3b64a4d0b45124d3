#include "agent/spool/spool.h"

#include "tests/unit/agent/spool/spool_fixture.h"

namespace logarithm::agent::test {
namespace {

const StreamId kA = stream_id(1), kB = stream_id(2);

}  // namespace

TEST_CASE("Spool: block, position and parser state come back together after a kill") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 100).ok());
  REQUIRE(f.append(kA, 100, 250).ok());

  REQUIRE(f.open().ok());

  const auto recovered = f.spool->recovered();
  REQUIRE(recovered.size() == 1);
  CHECK(recovered[0] == checkpoint_of(kA, 250));
  const SpoolBatch batch = f.next();
  REQUIRE(batch.blocks.size() == 2);
  CHECK(batch.blocks[0].block.bytes == block_of(kA, 0, 100).bytes);
  CHECK(batch.blocks[1].block.first == 100);
  CHECK(batch.blocks[1].block.job == "job");
}

TEST_CASE("Spool: after a power cut block and position are lost together, never apart") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 100).ok());
  f.tick();
  REQUIRE(f.append(kA, 100, 200).ok());

  f.memory.crash();
  REQUIRE(f.open().ok());

  CHECK(f.position(kA) == 100);
  CHECK(f.next().blocks.size() == 1);
}

TEST_CASE("Spool: infos come before blocks, templates once per cursor") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10, {1, 2}).ok());
  REQUIRE(f.append(kB, 0, 10, {2, 3}).ok());

  const SpoolBatch batch = f.next();

  CHECK(batch.infos.size() == 2);
  REQUIRE(batch.blocks.size() == 2);
  CHECK(batch.blocks[0].templates.size() == 2);
  REQUIRE(batch.blocks[1].templates.size() == 1);
  CHECK(batch.blocks[1].templates[0].id == 3);
  CHECK(f.next(batch.cursor).empty());
}

TEST_CASE("Spool: what only says where the reader stands sends no info again") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  const SpoolBatch batch = f.next();
  const std::uint64_t bytes = f.spool->stats().bytes;

  REQUIRE(f.append(kA, 10, 20).ok());

  CHECK(f.spool->stats().bytes - bytes < block_of(kA, 10, 20).bytes.size() + 250);
  const SpoolBatch more = f.next(batch.cursor);
  CHECK(more.infos.empty());
  CHECK(more.blocks.size() == 1);
  REQUIRE(f.open().ok());
  CHECK(f.spool->recovered()[0].source == checkpoint_of(kA, 20).source);
}

TEST_CASE("Spool: a gap is told behind its stream's info, which the aggregator may have lost") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  const SpoolBatch batch = f.next();
  const Gap gap{0, 10, "store_lost", 5};

  const Status told = f.on_file_thread(
      [&](BlockingToken& token) { return f.spool->append_gap(token, checkpoint_of(kA, 10), gap); });

  REQUIRE(told.ok());
  const SpoolBatch more = f.next(batch.cursor);
  REQUIRE(more.infos.size() == 1);
  CHECK(more.infos[0].stream == kA);
  CHECK(more.facts.size() == 1);
}

TEST_CASE("Spool: every segment carries the templates of its blocks") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  std::uint64_t at = 0;
  while (f.segments().size() < 3) {
    REQUIRE(f.append(kA, at, at + 10, {5}).ok());
    at += 10;
  }
  SpoolBatch batch = f.next();
  std::vector<std::uint64_t> old;
  for (const SpooledBlock& block : batch.blocks) old.push_back(block.number);
  const std::uint64_t newest = old.back();
  old.pop_back();

  f.ack(old);

  CHECK(f.segments().size() == 1);
  batch = f.next();
  REQUIRE(batch.blocks.size() == 1);
  CHECK(batch.blocks[0].number == newest);
  REQUIRE(batch.blocks[0].templates.size() == 1);
  CHECK(batch.blocks[0].templates[0].text == "template 5");
}

TEST_CASE(
    "Spool: a segment goes only when all of it is acked, and no stream is forgotten by that") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kB, 0, 10).ok());
  std::uint64_t at = 0;
  while (f.segments().size() < 4) {
    REQUIRE(f.append(kA, at, at + 10).ok());
    at += 10;
  }
  std::vector<std::uint64_t> of_a;
  std::uint64_t of_b = 0;
  for (const SpooledBlock& block : f.next().blocks) {
    if (block.block.stream == kA) of_a.push_back(block.number);
    if (block.block.stream == kB) of_b = block.number;
  }

  f.ack(of_a);
  CHECK(f.segments().size() == 4);
  f.ack({of_b});
  CHECK(f.segments().size() == 1);

  REQUIRE(f.open().ok());
  CHECK(f.position(kA) == at);
  CHECK(f.position(kB) == 10);
  CHECK(f.next().blocks.empty());
}

TEST_CASE(
    "Spool: cases 69 and 70, a full spool refuses, writes nothing and takes data again after "
    "acks") {
  SpoolFixture f;
  f.options.max_bytes = 20000;
  REQUIRE(f.open().ok());
  std::uint64_t at = 0;
  Status status;
  while ((status = f.append(kA, at, at + 10)).ok()) at += 10;

  CHECK(status.error().code() == ErrorCode::no_space);
  CHECK(f.spool->stats().full == 1);
  CHECK(f.spool->stats().bytes <= 20000 + 4096);
  CHECK(f.position(kA) == at);
  std::vector<std::uint64_t> all;
  for (const SpooledBlock& block : f.next().blocks) all.push_back(block.number);
  CHECK(all.size() == at / 10);

  f.ack(all);
  CHECK(f.append(kA, at, at + 10).ok());
}

TEST_CASE("Spool: a disk without room for others is as good as full") {
  SpoolFixture f;
  f.options.min_free = 1000;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());

  f.memory.set_free(1100);
  f.tick();  // asked once a second while there is plenty
  const Status refused = f.append(kA, 10, 20);
  f.memory.set_free(1u << 20);

  REQUIRE(!refused.ok());
  CHECK(refused.error().code() == ErrorCode::no_space);
  CHECK(f.append(kA, 10, 20).ok());
}

TEST_CASE("Spool: process facts are kept, newest per key, until they are delivered") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  ProcessInfo process;
  process.job = "job";
  process.host = "h";
  process.pid = 4;
  const auto add = [&] {
    f.on_file_thread(
        [&](BlockingToken& token) { CHECK(f.spool->append_processes(token, {process}).ok()); });
  };
  add();
  process.exit = 99;
  add();

  REQUIRE(f.open().ok());
  const SpoolBatch batch = f.next();
  REQUIRE(batch.facts.size() == 1);
  CHECK(std::get<ProcessInfo>(batch.facts[0].value).exit == 99);
  f.on_file_thread([&](BlockingToken& token) { f.spool->facts_done(token, {batch.facts[0].id}); });
  f.tick();

  CHECK(f.spool->drained());
  REQUIRE(f.open().ok());
  CHECK(f.spool->drained());
}

TEST_CASE("Spool: closed is given only after the last block of its stream is acked") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  StreamCheckpoint closed = checkpoint_of(kA, 10);
  closed.closed = true;
  closed.close_reason = "deleted";
  closed.close_size = 10;
  f.on_file_thread(
      [&](BlockingToken& token) { CHECK(f.spool->append(token, closed, nullptr).ok()); });
  SpoolBatch batch = f.next();
  REQUIRE(batch.blocks.size() == 1);
  CHECK(batch.facts.empty());
  CHECK(!f.spool->acknowledged(kA, 10));

  f.ack({batch.blocks[0].number});
  batch = f.next(batch.cursor);

  CHECK(f.spool->acknowledged(kA, 10));
  REQUIRE(batch.facts.size() == 1);
  CHECK(std::get<wire::Closed>(batch.facts[0].value).reason == "deleted");
}

TEST_CASE("Spool: a forgotten stream is gone for the next run, but what it has to tell is not") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  Gap gap;
  gap.from = 0;
  gap.reason = "deleted";
  f.on_file_thread([&](BlockingToken& token) {
    CHECK(f.spool->append_gap(token, checkpoint_of(kA, 0), gap).ok());
    CHECK(f.spool->forget(token, kA).ok());
  });

  REQUIRE(f.open().ok());
  REQUIRE(f.append(kB, 0, 10).ok());
  REQUIRE(f.open().ok());

  REQUIRE(f.spool->recovered().size() == 1);
  CHECK(f.spool->recovered()[0].stream == kB);
  CHECK(f.next().facts.size() == 1);
}

TEST_CASE("Spool: case 71, a refused block leaves a dead letter and a gap, and the rest goes on") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  REQUIRE(f.append(kA, 10, 20).ok());
  const SpoolBatch batch = f.next();
  wire::Refuse refuse;
  refuse.stream = kA;
  refuse.first = 0;
  refuse.end = 10;
  refuse.code = wire::RefuseCode::corrupt;

  f.on_file_thread(
      [&](BlockingToken& token) { f.spool->refused(token, batch.blocks[0].number, refuse); });

  REQUIRE(f.memory.bytes("/state/dead_letter.ndjson") != nullptr);
  const SpoolBatch after = f.next();
  CHECK(after.blocks.size() == 1);
  REQUIRE(after.facts.size() == 1);
  CHECK(std::get<wire::GapReport>(after.facts[0].value).gap.reason == "refused");
}

TEST_CASE("Spool: a state directory serves one agent at a time") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  const auto second = f.on_file_thread(
      [&](BlockingToken& token) { return Spool::open(token, f.options, f.files, f.clock); });
  REQUIRE(!second.ok());
  CHECK(second.error().code() == ErrorCode::conflict);
}

TEST_CASE("Spool: created_at survives restarts") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  const UnixNanos first = f.spool->created_at();
  f.tick();
  REQUIRE(f.open().ok());
  CHECK(f.spool->created_at() == first);
}

TEST_CASE("Spool: an older attribute version is told as long as one of its blocks is kept") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  StreamCheckpoint second = checkpoint_of(kA, 20);
  second.attributes.version = 1;
  second.attributes.from = 10;
  EncodedBlock block = block_of(kA, 10, 20);
  block.header.attributes_version = 1;
  f.on_file_thread(
      [&](BlockingToken& token) { CHECK(f.spool->append(token, second, &block).ok()); });

  REQUIRE(f.open().ok());

  const auto infos = f.next().infos;
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].attributes.version == 0);
  CHECK(infos[1].attributes.version == 1);
}

}  // namespace logarithm::agent::test
