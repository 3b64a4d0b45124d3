#include "aggregator/store/seal.h"

#include <doctest/doctest.h>

#include <random>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

std::size_t blocks_of(Store& store) { return store.candidates(*store.snapshot(kJob)).size(); }

void age(Store& store) {
  boost::asio::io_context io;
  store.clock.advance(io, std::chrono::minutes(2));
}

TEST_CASE("Seal: random streams keep every line, range, gap and version") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Store store;
  struct Position {
    std::uint64_t offset = 0;
    std::uint32_t version = 1;
  };
  std::vector<Position> positions(5);
  for (int i = 0; i < 150; ++i) {
    const std::size_t n = random() % positions.size();
    Position& at = positions[n];
    if (random() % 20 == 0) ++at.version;
    if (random() % 25 == 0) at.offset += 100;  // a hole
    std::vector<std::string> texts;
    for (unsigned k = 0; k <= random() % 5; ++k) {
      texts.push_back("loss " + std::to_string(random()) + (random() % 2 ? " nan" : " at x.py:7"));
    }
    auto lines = make_lines(at.offset, texts);
    for (Line& line : lines) {
      if (random() % 2) line.iteration = static_cast<std::int64_t>(random() % 50);
      if (random() % 4 == 0) line.callsite = "train.py:" + std::to_string(random() % 9);
      line.severity = static_cast<Severity>(random() % 7);
    }
    std::vector<Gap> gaps;
    if (random() % 10 == 0) {
      Gap gap;
      gap.from = lines.back().end();
      gap.to = lines.back().end() + 10;
      gap.reason = "nul_hole";
      gaps.push_back(gap);
    }
    const auto block =
        make_block(stream_of("s" + std::to_string(n)), "run7", lines, at.version, gaps);
    at.offset = block.block.end;
    REQUIRE(store.put(kJob, block, at.version).stored);
    if (i % 30 == 29) store.maintain();
  }
  const auto before = store.all_lines(kJob);
  const auto facts = store.snapshot(kJob);
  const std::size_t blocks = blocks_of(store);

  age(store);
  while (store.maintain()) {
  }

  CHECK(store.all_lines(kJob) == before);
  CHECK(blocks_of(store) < blocks);
  const auto after = store.snapshot(kJob);
  REQUIRE(after->streams().size() == facts->streams().size());
  for (std::size_t i = 0; i < after->streams().size(); ++i) {
    CHECK(after->streams()[i].ranges == facts->streams()[i].ranges);
    CHECK(after->streams()[i].gaps == facts->streams()[i].gaps);
    CHECK(after->streams()[i].versions == facts->streams()[i].versions);
  }
}

TEST_CASE("Seal: a stream that goes on is merged when it is idle, sealed when it is closed") {
  Store store;
  std::uint64_t offset = 0;
  for (int i = 0; i < 3; ++i) {
    const auto lines = numbered_lines(offset, 10);
    offset = lines.back().end();
    REQUIRE(store.put(kJob, make_block(kStream, "run7", lines)).stored);
  }
  store.maintain();
  CHECK(blocks_of(store) == 3);
  age(store);
  store.maintain();
  CHECK(blocks_of(store) == 1);
  CHECK(store.storage().stats().inbox_blocks == 1);
  REQUIRE(store.apply(kJob, {wire::Closed{kStream, "run7", offset, "exited"}}).ok());
  store.maintain();
  CHECK(blocks_of(store) == 1);
  CHECK(store.storage().stats().inbox_blocks == 0);
  CHECK(store.all_lines(kJob).size() == 30);
}

TEST_CASE("case 101: Seal: a flood of tiny blocks is merged again and again, not left to pile up") {
  Store store;
  std::uint64_t offset = 0;
  for (int i = 0; i < 60; ++i) {
    const auto lines = numbered_lines(offset, 1);
    offset = lines.back().end();
    REQUIRE(store.put(kJob, make_block(kStream, "run7", lines)).stored);
    store.maintain();
    REQUIRE(blocks_of(store) <= 24);
  }
  CHECK(store.all_lines(kJob).size() == 60);
}

TEST_CASE("Seal: full runs become blocks of one to two megabytes") {
  Store store;
  std::mt19937_64 random(3);
  std::uint64_t offset = 0;
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> texts;
    for (int n = 0; n < 150; ++n) {
      texts.push_back("value " + std::to_string(random()) + std::string(1000, 'x'));
    }
    const auto lines = make_lines(offset, texts);
    offset = lines.back().end();
    REQUIRE(store.put(kJob, make_block(kStream, "run7", lines)).stored);
  }
  const auto before = store.all_lines(kJob);
  store.maintain();
  auto view = store.snapshot(kJob);
  const auto refs = store.candidates(*view);
  REQUIRE(refs.size() <= 3);
  CHECK(refs[0].end - refs[0].first >= 1u << 20);
  CHECK(refs[0].end - refs[0].first <= 2u << 20);
  CHECK(store.all_lines(kJob) == before);
}

TEST_CASE("Seal: no block holds both sides of a clock step, and a quiet stream stays one block") {
  constexpr UnixNanos kHour = 3'600'000'000'000;
  Store store;
  const auto widest = [&](int blocks, std::size_t bytes, UnixNanos step) {
    const StreamId stream = stream_of(std::to_string(bytes) + "/" + std::to_string(step));
    std::uint64_t offset = 0;
    for (int i = 0; i < blocks; ++i) {
      auto lines = make_lines(offset, {std::string(bytes, 'x'), std::string(bytes, 'y')});
      for (Line& line : lines)
        line.time += UnixNanos{i} * 1'000'000'000 + (i < blocks / 2 ? 0 : step);
      offset = lines.back().end();
      REQUIRE(store.put(kJob, make_block(stream, "run7", lines)).stored);
    }
    REQUIRE(store.apply(kJob, {wire::Closed{stream, "run7", offset, "exited"}}).ok());
    store.maintain();
    UnixNanos out = 0;
    std::size_t count = 0;
    const auto view = store.snapshot(kJob);
    for (const BlockRef& block : store.candidates(*view)) {
      if (view->streams()[block.stream].id != stream) continue;
      out = std::max(out, block.time_max - block.time_min);
      ++count;
    }
    return std::pair(out, count);
  };
  for (const UnixNanos step : {-kHour, kHour}) {
    CAPTURE(step);
    const auto [busy, busy_blocks] = widest(20, 10'000, step);
    CHECK(busy < kHour / 2);
    CHECK(busy_blocks == 2);
    const auto [quiet, quiet_blocks] = widest(20, 100, step);
    CHECK(quiet > kHour / 2);
    CHECK(quiet_blocks == 1);
  }
}

}  // namespace
}  // namespace logarithm::aggregator::test
