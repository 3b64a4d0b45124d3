#include "aggregator/tail/tail_cursor.h"

#include <doctest/doctest.h>

#include <random>

#include "aggregator/query/cursor.h"

namespace logarithm::aggregator {
namespace {

Unsent random_unsent(std::mt19937_64& random) {
  Unsent out;
  std::uint64_t at = random() % 3 == 0 ? 0 : random() % (std::uint64_t{1} << 40);
  for (std::uint64_t holes = random() % 4; holes > 0; --holes) {
    const std::uint64_t end = at + 1 + random() % 1'000'000;
    out.push_back(Range{at, end});
    at = end + random() % 5;
  }
  out.push_back(Range{at, kNoEnd});
  return out;
}

TailCursor random_cursor(std::mt19937_64& random, std::size_t streams) {
  TailCursor cursor;
  cursor.query_hash = random();
  if (random() % 2 == 0) cursor.start = static_cast<UnixNanos>(random());
  if (random() % 2 == 0) cursor.end = -5;
  for (std::size_t i = 0; i < streams; ++i) {
    const StreamId stream{StreamBase{random(), random()}, static_cast<std::uint32_t>(random() % 3)};
    cursor.streams[stream_key(stream)] = random_unsent(random);
  }
  return cursor;
}

TEST_CASE("TailCursor: any cursor reads back as it was") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int turn = 0; turn < 200; ++turn) {
    const TailCursor cursor = random_cursor(random, random() % 40);

    const auto read = parse_tail_cursor(to_text(cursor));

    REQUIRE(read.ok());
    CHECK(read->query_hash == cursor.query_hash);
    CHECK(read->start == cursor.start);
    CHECK(read->end == cursor.end);
    CHECK(read->streams == cursor.streams);
  }
}

TEST_CASE("TailCursor: anything else is refused, and nothing is read out of bounds") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::string good = to_text(random_cursor(random, 20));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(parse_tail_cursor(good.substr(0, size)).ok());
  }
  for (int turn = 0; turn < 500; ++turn) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    if (bad == good) continue;
    const auto read = parse_tail_cursor(bad);
    // The last character holds bits that say nothing.
    if (read.ok()) CHECK(to_text(*read) == good);
  }
  CHECK_FALSE(parse_tail_cursor(to_text(Cursor())).ok());
  CHECK_FALSE(parse_tail_cursor("").ok());
}

TEST_CASE("TailCursor: a thousand streams take about 15 characters each") {
  std::mt19937_64 random(7);
  TailCursor cursor;
  for (int i = 0; i < 1000; ++i) {
    const StreamId stream{StreamBase{random(), random()}, 0};
    cursor.streams[stream_key(stream)] = Unsent{{random() % 1'000'000'000, kNoEnd}};
  }
  CHECK(cursor.streams.size() == 1000);
  CHECK(to_text(cursor).size() < 17'000);
}

TEST_CASE("TailCursor: generations of a file have keys of their own") {
  const StreamBase base{1, 2};
  CHECK(stream_key(StreamId{base, 0}) != stream_key(StreamId{base, 1}));
  CHECK((stream_key(StreamId{base, 0}) >> 48) == 0);
}

}  // namespace
}  // namespace logarithm::aggregator
