#include "aggregator/store/sqlite_storage.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

TEST_CASE("Storage: a stored block is read back as it was, and a replay changes nothing") {
  Store store;
  const auto lines = numbered_lines(0, 20);
  const MadeBlock block = make_block(kStream, "run7", lines);
  CHECK(store.put(kJob, block).stored);
  const auto before = store.all_lines(kJob);

  CHECK(store.put(kJob, block).stored);

  CHECK(before.size() == 20);
  CHECK(store.all_lines(kJob) == before);
  CHECK(store.storage().stats().blocks == 1);
  CHECK(store.storage().stats().lines == 20);
}

TEST_CASE("Storage: stored() tells ranges, head, tail and versions, also after a reopen") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines), 3).refuse.has_value());
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines, 3), 3).stored);
  for (int round = 0; round < 2; ++round) {
    const auto stored = store.stored(kJob, kStream.base);
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].head == "first line");
    CHECK(stored[0].ranges == std::vector<Range>{{0, lines.back().end()}});
    CHECK(stored[0].tail_crc == lines.back().end());
    CHECK(stored[0].last_version == 3);
    CHECK_FALSE(stored[0].closed);
    store.open();
  }
  CHECK(store.stored(kJob, stream_of("another").base).empty());
  CHECK(store.stored(key_of("no such job"), kStream.base).empty());
}

TEST_CASE("Storage: a job has the ranks that only its lines name, also after a reopen") {
  Store store;
  auto lines = numbered_lines(0, 4);
  lines[0].wrapper_rank = 0;
  lines[2].wrapper_rank = 5;
  lines[3].wrapper_rank = 1;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines)).stored);
  auto one = numbered_lines(lines.back().end(), 1);
  one[0].wrapper_rank = 7;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", one)).stored);
  for (int round = 0; round < 2; ++round) {
    auto summary =
        store.run([&](BlockingToken& token) { return store.storage().summary(token, kJob); });
    REQUIRE(summary.ok());
    CHECK(summary->ranks == std::set<std::int32_t>{0, 1, 5, 7});
    store.open();
  }
}

TEST_CASE("Storage: two tenants with the same job and stream see nothing of each other") {
  Store store;
  const JobKey a = key_of("run7", "a"), b = key_of("run7", "b");
  REQUIRE(store.put(a, make_block(kStream, "run7", numbered_lines(0, 3, "apple"))).stored);
  REQUIRE(store.put(b, make_block(kStream, "run7", numbered_lines(0, 5, "pear"))).stored);

  CHECK(store.all_lines(a).size() == 3);
  CHECK(store.all_lines(b).size() == 5);
  store.run([&](BlockingToken& token) {
    CHECK(store.storage().jobs(token, "a")->size() == 1);
    CHECK(store.storage().jobs(token, "default")->empty());
    CHECK(store.storage().job_of(token, "a", kStream)->tenant == "a");
    CHECK(store.storage().job_of(token, "c", kStream).error().code() == ErrorCode::not_found);
    return 0;
  });
}

TEST_CASE("Storage: NaN lives through storing, sealing and reading") {
  Store store;
  auto lines = numbered_lines(0, 4);
  lines[1].meta.push_back(MetaPair{"lm_loss", std::numeric_limits<double>::quiet_NaN(), true});
  lines[2].meta.push_back(MetaPair{"lm_loss", 2.5, true});
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  for (int round = 0; round < 2; ++round) {
    auto view = store.snapshot(kJob);
    std::vector<Line> all;
    for (const BlockRef& ref : store.candidates(*view)) {
      for (Line& line : store.lines(*view, ref)) all.push_back(std::move(line));
    }
    REQUIRE(all.size() == 4);
    REQUIRE(all[1].meta.size() == 1);
    CHECK(std::isnan(std::get<double>(all[1].meta[0].value)));
    CHECK(all[1].meta[0].point);
    CHECK(std::get<double>(all[2].meta[0].value) == 2.5);
    view.reset();
    REQUIRE(store.apply(kJob, {wire::Closed{kStream, "run7", 99, "exited"}}).ok());
    store.maintain();
  }
}

TEST_CASE(
    "Storage: case 47, an agent that does not know a shared file's writer takes it from nobody") {
  Store store;
  wire::StreamInfo knows = info_of(kStream, "run7"), other = info_of(kStream, "run7");
  knows.attributes.process = "node1/42/7";
  knows.attributes.rank = 3;
  other.attributes.host = "node2";
  const auto rank = [&] { return store.snapshot(kJob)->streams().at(0).versions.at(0).rank; };
  REQUIRE(store.apply(kJob, {other}).ok());
  CHECK_FALSE(rank());
  REQUIRE(store.apply(kJob, {knows}).ok());
  CHECK(rank() == 3);
  REQUIRE(store.apply(kJob, {other}).ok());
  CHECK(rank() == 3);
  // Its own agent corrects it, and a later version is another one.
  knows.attributes.rank = 4;
  REQUIRE(store.apply(kJob, {knows}).ok());
  CHECK(rank() == 4);
  other.attributes.version = 2;
  other.attributes.from = 10;
  REQUIRE(store.apply(kJob, {other}).ok());
  CHECK(store.snapshot(kJob)->streams().at(0).versions.size() == 2);
}

TEST_CASE("Storage: facts of streams and processes reach the snapshot") {
  Store store;
  ProcessInfo process;
  process.job = "run7";
  process.host = "node1";
  process.pid = 42;
  process.start = kStart;
  process.exit = kStart + 1'000'000'000;
  process.last_seen = kStart;
  process.rank = 3;
  process.world_size = 8;
  wire::StreamInfo info = info_of(kStream, "run7");
  info.attributes.process = process.key();
  auto lines = numbered_lines(0, 4);
  lines[2].severity = Severity::error;
  lines[2].iteration = 17;
  EventMark mark;
  mark.rule = "xid";
  mark.kind = "xid";
  mark.klass = "root";
  lines[2].events.push_back(mark);
  Gap gap;
  gap.from = 500;
  gap.reason = "deleted";
  const MadeBlock block = make_block(kStream, "run7", lines);
  REQUIRE(store
              .apply(kJob, {info, block.templates, block.block, wire::Processes{{process}},
                            wire::GapReport{kStream, "run7", gap},
                            wire::Closed{kStream, "run7", 600, "exited"}})
              .ok());
  process.exit.reset();  // an older report, later
  REQUIRE(store.apply(kJob, {wire::Processes{{process}}}).ok());

  auto view = store.snapshot(kJob);
  REQUIRE(view->streams().size() == 1);
  const StreamFacts& stream = view->streams()[0];
  CHECK(stream.lines == 4);
  CHECK(stream.last_iteration == 17);
  CHECK(stream.gaps == std::vector<Gap>{gap});
  REQUIRE(stream.closed.has_value());
  CHECK(stream.closed->size == 600);
  REQUIRE(stream.at(0) != nullptr);
  CHECK(stream.at(0)->process == process.key());
  REQUIRE(view->processes().size() == 1);
  CHECK(view->processes()[0].info.exit == kStart + 1'000'000'000);
  CHECK(view->processes()[0].attempt == 0);

  auto summary =
      store.run([&](BlockingToken& token) { return store.storage().summary(token, kJob); });
  REQUIRE(summary.ok());
  CHECK(summary->errors == 1);
  CHECK(summary->lines == 4);
  CHECK(summary->ranks == std::set<std::int32_t>{3});
  CHECK(summary->world_size == 8);
  CHECK_FALSE(summary->running);
}

TEST_CASE("case 100: Storage: a job of many parts is one job, and a replay finds every part") {
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 1;  // every batch begins a new part
  Store store(options);
  std::vector<MadeBlock> blocks;
  std::uint64_t offset = 0;
  for (int i = 0; i < 12; ++i) {
    const auto lines = numbered_lines(offset, 5);
    offset = lines.back().end();
    blocks.push_back(make_block(kStream, "run7", lines));
    REQUIRE(store.put(kJob, blocks.back()).stored);
  }
  CHECK(store.all_lines(kJob).size() == 60);
  CHECK(store.snapshot(kJob)->streams().size() == 1);
  store.open();

  for (const MadeBlock& block : blocks) CHECK(store.put(kJob, block).stored);

  CHECK(store.all_lines(kJob).size() == 60);
  CHECK(store.storage().stats().blocks == 0);  // since the reopen
  CHECK(store.stored(kJob, kStream.base)[0].ranges == std::vector<Range>{{0, offset}});
  CHECK(store.stored(kJob, kStream.base)[0].tail_crc == offset);
}

TEST_CASE("Storage: more jobs than may be open are still all served") {
  SqliteStorageOptions options;
  options.max_open_jobs = 2;
  Store store(options);
  for (int round = 0; round < 2; ++round) {
    for (int job = 0; job < 6; ++job) {
      const JobKey key = key_of("job" + std::to_string(job));
      const auto lines = numbered_lines(static_cast<std::uint64_t>(round) * 1000, 2);
      REQUIRE(store.put(key, make_block(kStream, key.job, lines)).stored);
    }
  }
  for (int job = 0; job < 6; ++job) {
    CHECK(store.all_lines(key_of("job" + std::to_string(job))).size() == 4);
  }
  CHECK(store.storage().stats().open_shards <= 2);
}

}  // namespace
}  // namespace logarithm::aggregator::test
