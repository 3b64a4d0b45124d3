#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

TEST_CASE("Storage: candidates are pruned by time, severity and stream only where that is safe") {
  Store store;
  auto lines = numbered_lines(0, 6);
  lines[0].severity = Severity::error;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  auto view = store.snapshot(kJob);

  CHECK(store.candidates(*view).size() == 3);
  BlockFilter filter;
  filter.start = lines[3].time;
  CHECK(store.candidates(*view, filter).size() == 2);
  filter.start.reset();
  filter.end = lines[2].time;  // [start, end)
  CHECK(store.candidates(*view, filter).size() == 1);
  filter.end.reset();
  filter.severities = 1u << static_cast<unsigned>(Severity::error);
  CHECK(store.candidates(*view, filter).size() == 1);
  filter = {};
  filter.streams.emplace();
  CHECK(store.candidates(*view, filter).empty());
}

TEST_CASE("Storage: candidates of few streams are those among all candidates") {
  Store store;
  for (int i = 0; i < 12; ++i) {
    const StreamId stream = stream_of("s" + std::to_string(i));
    const auto lines = numbered_lines(0, 10), more = numbered_lines(lines.back().end(), 10);
    REQUIRE(store.put(kJob, make_block(stream, "run7", lines)).stored);
    REQUIRE(store.put(kJob, make_block(stream, "run7", more)).stored);
  }
  auto view = store.snapshot(kJob);
  const std::vector<BlockRef> all = store.candidates(*view);
  const std::vector<std::set<std::size_t>> chosen = {{}, {3}, {0, 11}, {1, 2, 3, 4, 5, 6}};
  for (const std::set<std::size_t>& streams : chosen) {
    BlockFilter filter;
    filter.streams = streams;
    std::vector<std::pair<std::size_t, std::uint64_t>> expected, found;
    for (const BlockRef& block : all) {
      if (streams.contains(block.stream)) expected.emplace_back(block.stream, block.first);
    }
    for (const BlockRef& block : store.candidates(*view, filter)) {
      found.emplace_back(block.stream, block.first);
    }
    CHECK(found == expected);
  }
}

TEST_CASE("Storage: it is known of which streams no wrapper gave a rank, fresh and sealed") {
  Store store;
  const StreamId plain = stream_of("plain"), wrapped = stream_of("wrapped");
  const auto lacking = [&] {
    std::set<StreamId> out;
    auto view = store.snapshot(kJob);
    for (const StreamFacts& stream : view->streams()) {
      if (stream.lacks_wrapper_ranks) out.insert(stream.id);
    }
    return out;
  };
  REQUIRE(store.put(kJob, make_block(plain, "run7", numbered_lines(0, 20))).stored);
  std::vector<Line> lines = numbered_lines(0, 20);
  REQUIRE(store.put(kJob, make_block(wrapped, "run7", lines)).stored);
  CHECK(lacking() == std::set<StreamId>{plain, wrapped});
  lines = numbered_lines(lines.back().end(), 20);
  lines[7].wrapper_rank = 0;
  REQUIRE(store.put(kJob, make_block(wrapped, "run7", lines)).stored);
  CHECK(lacking() == std::set<StreamId>{plain});
  while (store.maintain()) {
  }
  CHECK(lacking() == std::set<StreamId>{plain});
}

TEST_CASE("Storage: the blocks from an offset on are those that candidates() finds there") {
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 400'000;
  Store store(options);
  const StreamId stream = stream_of("a"), other = stream_of("b");
  std::uint64_t at = 100;
  for (int i = 0; i < 60; ++i) {
    const auto lines = numbered_lines(at, 5 + i % 7);
    store.put(kJob, make_block(stream, kJob.job, lines));
    if (i % 5 == 0) store.put(kJob, make_block(other, kJob.job, lines));
    at = lines.back().end() + (i % 11 == 0 ? 50 : 0);
    if (i % 17 == 16) store.maintain();
  }
  auto view = store.snapshot(kJob);
  const auto position = static_cast<std::size_t>(
      std::find_if(view->streams().begin(), view->streams().end(),
                   [&](const StreamFacts& facts) { return facts.id == stream; }) -
      view->streams().begin());
  BlockFilter filter;
  filter.streams = std::set<std::size_t>{position};
  auto all = store.candidates(*view, filter);
  std::sort(all.begin(), all.end(),
            [](const BlockRef& a, const BlockRef& b) { return a.first < b.first; });

  for (std::uint64_t offset = 0; offset < at + 50; offset += 13) {
    CAPTURE(offset);
    const std::size_t most = 1 + offset % 9;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> expected, found;
    for (const BlockRef& block : all) {
      if (block.end > offset && expected.size() < most)
        expected.emplace_back(block.shard, block.id);
    }
    auto blocks = store.run(
        [&](BlockingToken& token) { return view->blocks_from(token, position, offset, most); });
    REQUIRE(blocks.ok());
    for (const BlockRef& block : *blocks) found.emplace_back(block.shard, block.id);
    CHECK(found == expected);
  }
}

TEST_CASE("case 95: Storage: a snapshot sees one state while ingest and sealing go on") {
  Store store;
  const auto lines = numbered_lines(0, 6);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  auto view = store.snapshot(kJob);
  const auto refs = store.candidates(*view);

  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  REQUIRE(store.apply(kJob, {wire::Closed{kStream, "run7", 1, "exited"}}).ok());
  store.maintain();

  CHECK(store.candidates(*store.snapshot(kJob)).size() == 1);
  REQUIRE(refs.size() == 2);
  CHECK(store.lines(*view, refs[0]).size() == 2);
  CHECK(store.lines(*view, refs[1]).size() == 2);
  CHECK(store.candidates(*view).size() == 2);
}

TEST_CASE(
    "Storage: the iterations of a process are those of all its streams, with their first times") {
  Store store;
  const StreamId other = stream_of("rank 0 stderr");
  std::vector<IngestItem> items;
  for (const StreamId& stream : {kStream, other}) {
    wire::StreamInfo info = info_of(stream, "run7");
    info.attributes.process = "node1/7/9";
    items.push_back(info);
    auto lines = numbered_lines(0, 4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].iteration = static_cast<std::int64_t>(stream == other ? 10 + i : 11 + i);
    }
    const MadeBlock made = make_block(stream, "run7", lines);
    items.push_back(made.templates);
    items.push_back(made.block);
  }
  const auto outcomes = store.apply(kJob, items);
  REQUIRE(outcomes.ok());
  for (const IngestOutcome& outcome : *outcomes) CHECK(outcome.stored);

  auto view = store.snapshot(kJob);
  auto starts =
      store.run([&](BlockingToken& token) { return view->iterations(token, "node1/7/9"); });
  REQUIRE(starts.ok());
  std::sort(starts->begin(), starts->end());
  REQUIRE(starts->size() == 5);
  CHECK(starts->front() == IterationStart{kStart, 10});
  CHECK(starts->back().iteration == 14);
  CHECK(store.run([&](BlockingToken& token) { return view->iterations(token, "x"); })->empty());
}

TEST_CASE(
    "case 96: Storage: the WAL grows while a reader lives, shows it, and starts again after") {
  Store store;
  std::mt19937_64 random(7);
  std::uint64_t at = 0;
  const auto put_some = [&] {
    for (int i = 0; i < 10; ++i) {
      std::vector<std::string> texts;
      for (int line = 0; line < 200; ++line) {
        std::string text;
        for (int word = 0; word < 50; ++word) text += std::to_string(random()) + " ";
        texts.push_back(std::move(text));
      }
      const MadeBlock block = make_block(kStream, "run7", make_lines(at, texts));
      at = block.block.end;
      REQUIRE(store.put(kJob, block).stored);
    }
    store.maintain();
    return store.storage().stats().wal_bytes;
  };
  put_some();
  auto reader = store.snapshot(kJob);
  REQUIRE(!store.candidates(*reader).empty());
  put_some();
  const std::uint64_t held = put_some();
  CHECK(put_some() > held + (1u << 20));  // nothing is reset while somebody reads

  reader.reset();
  store.maintain();
  const std::uint64_t peak = put_some();  // the writer begins again at the front
  for (int i = 0; i < 6; ++i) CHECK(put_some() <= peak);
  CHECK(store.all_lines(kJob).size() > 0);  // a whole query leaves no reader behind
  for (int i = 0; i < 6; ++i) CHECK(put_some() <= peak);
}

}  // namespace
}  // namespace logarithm::aggregator::test
