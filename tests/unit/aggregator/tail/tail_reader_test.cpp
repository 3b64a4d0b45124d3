#include "aggregator/tail/tail_reader.h"

#include <random>

#include "tests/unit/aggregator/tail/tail_fixture.h"

namespace logarithm::aggregator {
namespace {

constexpr std::chrono::seconds kSecond{1};

TailQuery from_the_start() {
  TailQuery query;
  query.job.job = "j";
  query.start = 0;
  return query;
}

std::unique_ptr<TailReader> read(TailQuery query) {
  return std::make_unique<TailReader>(std::move(query), TailMergeOptions());
}

// Everything that can be had now; the last cursor.
std::string drain(TailJob& job, TailReader& reader, Received& received,
                  std::size_t piece_bytes = 1u << 20) {
  std::string cursor;
  while (job.step(reader, piece_bytes) != TailReader::State::idle) {
    TailPiece piece = reader.take();
    received.add(piece.lines);
    cursor = piece.cursor;
  }
  return cursor;
}

TEST_CASE("TailReader: without a start only what is stored from then on comes") {
  TailJob job(2);
  job.store(0, TailJob::lines(0, 5, 100));
  TailQuery query;
  query.job.job = "j";
  auto reader = read(query);
  Received received;

  CHECK(job.step(*reader) == TailReader::State::piece);
  const TailPiece first = reader->take();
  CHECK(first.count == 0);
  CHECK(first.live);
  CHECK_FALSE(first.cursor.empty());
  // Older than what there was, and of a stream that had nothing: late lines count, too.
  const auto late = TailJob::lines(0, 3, 1);
  job.store(1, late);
  drain(job, *reader, received);

  CHECK(received.size() == 3);
}

TEST_CASE("TailReader: with a start the stored lines since then come first, by time") {
  TailJob job(2);
  job.store(0, TailJob::lines(0, 3, 10));
  job.store(1, TailJob::lines(0, 3, 12));
  TailQuery query = from_the_start();
  query.start = 11;
  auto reader = read(query);

  CHECK(job.step(*reader) == TailReader::State::piece);
  const TailPiece piece = reader->take();

  CHECK(piece.count == 5);
  CHECK(piece.live);
  const std::string one = to_text(job.job->streams()[0].id);
  const std::string two = to_text(job.job->streams()[1].id);
  CHECK(piece.lines == one + ":7," + one + ":14," + two + ":0," + two + ":7," + two + ":14");
}

TEST_CASE("TailReader: filters hold, and passed lines move the cursor") {
  TailJob job(3);
  for (std::size_t i = 0; i < 3; ++i)
    job.store(i, TailJob::lines(0, 4, 10, i == 1 ? "odd" : "even"));
  TailQuery query = from_the_start();
  SUBCASE("text") { query.predicate = filter("grep", "odd"); }
  SUBCASE("rank") { query.predicate = filter("rank", "1"); }
  auto reader = read(query);
  Received received;

  const std::string cursor = drain(job, *reader, received);

  CHECK(received.size() == 4);
  auto parsed = parse_tail_cursor(cursor);
  REQUIRE(parsed.ok());
  query.cursor = *parsed;
  job.store(1, TailJob::lines(100, 2, 50, "odd"));
  job.store(2, TailJob::lines(100, 2, 50, "even"));
  job.now += 10 * kSecond;  // the hole before offset 100 is given up
  auto again = read(query);
  drain(job, *again, received);
  job.now += 10 * kSecond;
  drain(job, *again, received);
  CHECK(received.size() == 6);
}

TEST_CASE("TailReader: a hole is waited for, so that a stream stays in order") {
  TailJob job(1);
  auto reader = read(from_the_start());
  Received received;
  const auto all = TailJob::lines(0, 9, 10);
  const std::vector<Line> a(all.begin(), all.begin() + 3), b(all.begin() + 3, all.begin() + 6),
      c(all.begin() + 6, all.end());
  job.store(0, a);
  drain(job, *reader, received);
  job.store(0, c);
  drain(job, *reader, received);
  CHECK(received.size() == 3);
  REQUIRE(reader->retry_at());
  CHECK(*reader->retry_at() == job.now + 5 * kSecond);

  SUBCASE("until it is filled") {
    job.now += kSecond;
    job.store(0, b);
    drain(job, *reader, received);
    CHECK(received.streams.begin()->second == offsets_of(all));
  }
  SUBCASE("but not for ever; what comes late still comes") {
    job.now += 6 * kSecond;
    const std::string cursor = drain(job, *reader, received);
    CHECK(received.size() == 6);
    job.store(0, b);
    SUBCASE("to this connection") { drain(job, *reader, received); }
    SUBCASE("to the next") {
      TailQuery query = from_the_start();
      query.cursor = *parse_tail_cursor(cursor);
      drain(job, *read(query), received);
    }
    CHECK(received.size() == 9);
  }
  SUBCASE("and not at all where a gap explains it") {
    job.job->facts()[0].gaps.push_back(Gap{b.front().offset, c.front().offset, "lost", 1});
    drain(job, *reader, received);
    CHECK(received.size() == 6);
  }
}

TEST_CASE("TailReader: a reader that is too far behind skips to the newest and is told how much") {
  TailJob job(2);
  TailQuery query = from_the_start();
  query.max_behind = 10 * kSecond;
  auto reader = read(query);
  Received received;
  drain(job, *reader, received);
  job.store(0, TailJob::lines(0, 100, 10));
  job.store(1, TailJob::lines(0, 50, 10));
  std::uint64_t skipped = 0, told = 0;

  for (int i = 0; i < 20 && skipped == 0; ++i) {
    REQUIRE(job.step(*reader, 40) == TailReader::State::piece);
    const TailPiece piece = reader->take();
    received.add(piece.lines);
    skipped += piece.skipped;
    if (piece.skipped > 0) ++told;
    job.now += kSecond;
  }

  CHECK(told == 1);
  CHECK(received.size() + skipped == 150);
  CHECK(received.size() < 30);
  job.store(0, TailJob::lines(job.job->streams()[0].ranges.back().end, 5, 500));
  drain(job, *reader, received);
  CHECK(received.size() + skipped == 155);
}

TEST_CASE("TailReader: one that catches up, or wants everything, is never made to skip") {
  TailJob job(1);
  TailQuery query = from_the_start();
  SUBCASE("it was never up with the job") { query.max_behind = kSecond; }
  SUBCASE("it wants everything") { query.max_behind = 0 * kSecond; }
  auto reader = read(query);
  Received received;
  if (query.max_behind.count() == 0) drain(job, *reader, received);
  job.store(0, TailJob::lines(0, 100, 10));

  for (int i = 0; i < 200 && received.size() < 100; ++i) {
    REQUIRE(job.step(*reader, 20) == TailReader::State::piece);
    const TailPiece piece = reader->take();
    received.add(piece.lines);
    CHECK(piece.skipped == 0);
    job.now += kSecond;
  }

  CHECK(received.size() == 100);
}

TEST_CASE("TailReader: a damaged block is passed over and its lines are counted") {
  TailJob job(1);
  job.store(0, TailJob::lines(0, 4, 10));
  job.store(0, TailJob::lines(28, 3, 20));
  job.job->damage_block(0, job.job->block_size(0) - 6);
  auto reader = read(from_the_start());

  REQUIRE(job.step(*reader) == TailReader::State::piece);
  const TailPiece piece = reader->take();

  CHECK(piece.count == 3);
  CHECK(piece.unreadable == 4);
}

// Blocks that arrive about in order, pieces of any size, clients that leave at any time.
TEST_CASE("TailReader: the union over reconnects is exact, and in order per stream") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::size_t streams = 1 + random() % 4;
    TailJob job(streams);
    std::vector<std::vector<std::vector<Line>>> coming(streams);
    std::vector<std::vector<std::uint64_t>> expected(streams);
    for (std::size_t i = 0; i < streams; ++i) {
      std::uint64_t offset = 0;
      for (std::uint64_t block = random() % 30; block > 0; --block) {
        const auto lines = TailJob::lines(offset, 1 + static_cast<int>(random() % 9),
                                          static_cast<UnixNanos>(random() % 1000));
        offset = lines.back().end();
        for (const Line& line : lines) expected[i].push_back(line.offset);
        coming[i].push_back(lines);
      }
      // Refused at first and sent again: it comes after its successor.
      for (std::size_t at = 1; at < coming[i].size(); ++at) {
        if (random() % 4 == 0) std::swap(coming[i][at - 1], coming[i][at]);
      }
    }
    TailQuery query = from_the_start();
    auto reader = read(query);
    Received received;
    std::string cursor = drain(job, *reader, received);
    for (bool more = true; more;) {
      more = false;
      bool lost = false;
      for (std::size_t i = 0; i < streams; ++i) {
        if (!coming[i].empty() && random() % 2 == 0) {
          job.store(i, coming[i].front());
          coming[i].erase(coming[i].begin());
        }
        more = more || !coming[i].empty();
      }
      for (std::uint64_t steps = random() % 3; steps > 0; --steps) {
        if (job.step(*reader, 1 + random() % 200) != TailReader::State::piece) break;
        const TailPiece piece = reader->take();
        lost = random() % 10 == 0;  // it never reached the client
        if (lost) break;
        received.add(piece.lines);
        cursor = piece.cursor;
      }
      if (lost || random() % 3 == 0) {
        if (!cursor.empty()) {  // else nothing came yet: from the start again
          auto parsed = parse_tail_cursor(cursor);
          REQUIRE(parsed.ok());
          query.cursor = std::move(*parsed);
        }
        reader = read(query);
      } else if (random() % 10 == 0) {
        const std::string newer = drain(job, *reader, received, 1 + random() % 500);
        if (!newer.empty()) cursor = newer;
      }
    }
    if (!cursor.empty()) query.cursor = *parse_tail_cursor(cursor);
    drain(job, *read(query), received);

    for (std::size_t i = 0; i < streams; ++i) {
      CHECK(received.streams[to_text(job.job->streams()[i].id)] == expected[i]);
    }
  }
}

}  // namespace
}  // namespace logarithm::aggregator
