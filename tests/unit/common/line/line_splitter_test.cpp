#include "common/line/line_splitter.h"

#include <doctest/doctest.h>

#include <vector>

namespace logarithm {
namespace {

struct Piece {
  std::uint64_t offset, length;
  std::string raw;
  Terminator terminator;
  bool glued, partial, truncated;
};

struct Collector final : LineSplitter::Sink {
  void on_segment(const LineSplitter::Segment& s) override {
    pieces.push_back(
        {s.offset, s.length, std::string(s.raw), s.terminator, s.glued, s.partial, s.truncated});
  }
  void on_gap(const Gap& gap) override { gaps.push_back(gap); }
  std::vector<Piece> pieces;
  std::vector<Gap> gaps;
};

struct Fixture {
  explicit Fixture(std::size_t pool_size = 8u << 20) : pool(pool_size) {}
  LongLinePool pool;
  Collector out;
  LineSplitter splitter{pool, out, 0, false};
};

}  // namespace

TEST_CASE("Line splitter: every kind of end is a terminator with its place") {
  Fixture f;
  f.splitter.feed("a\nb\r\nc\rd", 1);
  f.splitter.end(1);

  REQUIRE(f.out.pieces.size() == 4);
  CHECK(f.out.pieces[0].terminator == Terminator::lf);
  CHECK(f.out.pieces[1].terminator == Terminator::crlf);
  CHECK(f.out.pieces[2].terminator == Terminator::cr);
  CHECK(f.out.pieces[3].terminator == Terminator::none);
  CHECK(f.out.pieces[3].offset == 7);
  CHECK(f.out.pieces[3].partial);
  CHECK(f.splitter.position() == 8);
}

TEST_CASE("Line splitter: a return at the end of a feed waits for the next byte") {
  Fixture f;
  f.splitter.feed("a\r", 1);
  CHECK(f.out.pieces.empty());
  CHECK(f.splitter.position() == 0);
  CHECK(f.splitter.next_read() == 2);
  f.splitter.feed("\nb\r", 1);
  REQUIRE(f.out.pieces.size() == 1);
  CHECK(f.out.pieces[0].terminator == Terminator::crlf);
  f.splitter.feed("c", 1);
  REQUIRE(f.out.pieces.size() == 2);
  CHECK(f.out.pieces[1].terminator == Terminator::cr);
  f.splitter.feed("\r", 1);
  f.splitter.flush(1);
  REQUIRE(f.out.pieces.size() == 3);
  CHECK(f.out.pieces[2].raw == "c");
  CHECK(f.splitter.next_read() == f.splitter.position());
}

TEST_CASE(
    "Line splitter: case 24: a line whose writer is gone is unfinished, and nothing goes on") {
  Fixture f;
  f.splitter.feed("a\nb", 1);
  f.splitter.end(1);
  CHECK_FALSE(f.splitter.glued());
  f.splitter.feed("c\n", 1);
  REQUIRE(f.out.pieces.size() == 3);
  CHECK(f.out.pieces[1].partial);
  CHECK(f.out.pieces[2].raw == "c");
  CHECK_FALSE(f.out.pieces[2].glued);
}

TEST_CASE("Line splitter: case 24: an unfinished line leaves, and its late bytes are glued to it") {
  Fixture f;
  f.splitter.feed("a\nb", 1);
  f.splitter.flush(1);
  f.splitter.flush(1);
  REQUIRE(f.out.pieces.size() == 2);
  CHECK(f.out.pieces[1].partial);
  f.splitter.feed("c\nd\n", 1);
  REQUIRE(f.out.pieces.size() == 4);
  CHECK(f.out.pieces[2].glued);
  CHECK(f.out.pieces[2].raw == "c");
  CHECK(f.out.pieces[2].offset == 3);
  CHECK_FALSE(f.out.pieces[3].glued);
}

TEST_CASE("Line splitter: case 27: the first MiB of a long line stays, the next line is whole") {
  Fixture f;
  const std::string chunk(1u << 20, 'x');
  for (int i = 0; i < 5; ++i) f.splitter.feed(chunk, 1);
  f.splitter.feed("tail\r\nnext\n", 1);

  REQUIRE(f.out.pieces.size() == 2);
  CHECK(f.out.pieces[0].raw.size() == StreamParser::kMaxLine);
  CHECK(f.out.pieces[0].truncated);
  CHECK(f.out.pieces[0].length == (5u << 20) + 6);
  REQUIRE(f.out.gaps.size() == 1);
  CHECK(f.out.gaps[0].reason == "line_too_long");
  CHECK(f.out.gaps[0].from == (1u << 20));
  CHECK(f.out.gaps[0].to == (5u << 20) + 4);
  CHECK(f.out.pieces[1].raw == "next");
}

TEST_CASE("Line splitter: case 27: without room in the pool a long line leaves in glued pieces") {
  Fixture f(0);
  const std::string line(100'000, 'y');
  f.splitter.feed(line.substr(0, 50'000), 1);
  f.splitter.feed(line.substr(50'000), 1);
  f.splitter.feed("\nnext\n", 1);

  std::string joined;
  for (std::size_t i = 0; i + 1 < f.out.pieces.size(); ++i) {
    CHECK(f.out.pieces[i].offset == joined.size());
    CHECK(f.out.pieces[i].raw.size() <= StreamParser::kPooled);
    CHECK(f.out.pieces[i].glued == (i > 0));
    joined += f.out.pieces[i].raw;
  }
  CHECK(joined == line);
  CHECK(f.out.pieces.back().raw == "next");
  CHECK_FALSE(f.out.pieces.back().glued);
  CHECK(f.out.gaps.empty());
}

TEST_CASE("Line splitter: the pool gets its room back") {
  LongLinePool pool(2u << 20);
  Collector out;
  {
    LineSplitter splitter(pool, out, 0, false);
    for (int i = 0; i < 10; ++i) {
      splitter.feed(std::string(900'000, 'x'), 1);
      splitter.feed("\n", 1);
    }
    splitter.feed(std::string(900'000, 'x'), 1);
  }
  CHECK(out.pieces.size() == 10);
  CHECK(pool.try_take(2u << 20));
}

TEST_CASE("Line splitter: case 32: a long run of NULs is a hole, the line after it is delivered") {
  Fixture f;
  const std::string block(65'536, '\0');
  f.splitter.feed("a\n", 1);
  for (int i = 0; i < 100; ++i) f.splitter.feed(block, 1);
  f.splitter.feed("line\nnext\n", 1);

  REQUIRE(f.out.pieces.size() == 3);
  CHECK(f.out.pieces[1].raw == "line");
  CHECK(f.out.pieces[1].offset == 2 + 6'553'600);
  REQUIRE(f.out.gaps.size() == 1);
  CHECK(f.out.gaps[0].reason == "nul_hole");
  CHECK(f.out.gaps[0].from == 2);
  CHECK(f.out.gaps[0].to == 2 + 6'553'600);
}

TEST_CASE("Line splitter: case 33: a few NULs are bytes of their line, anywhere in it") {
  Fixture f;
  const std::string text = std::string(10, '\0') + "a" + std::string(5000, '\0') + "b";
  f.splitter.feed(text.substr(0, 4), 1);
  f.splitter.feed(text.substr(4), 1);
  f.splitter.feed("\nc\n", 1);
  f.splitter.feed(std::string(3, '\0'), 1);
  f.splitter.end(1);

  REQUIRE(f.out.pieces.size() == 3);
  CHECK(f.out.pieces[0].raw == text);
  CHECK(f.out.pieces[1].raw == "c");
  CHECK(f.out.pieces[2].raw == std::string(3, '\0'));
  CHECK(f.out.gaps.empty());
}

TEST_CASE("Line splitter: missing bytes are a gap, and what was unfinished leaves first") {
  Fixture f;
  f.splitter.feed("half", 1);
  f.splitter.skip_to(2, "ignored", 1);
  f.splitter.skip_to(100, "copytruncate", 9);
  f.splitter.feed("x\n", 1);

  REQUIRE(f.out.pieces.size() == 2);
  CHECK(f.out.pieces[0].partial);
  CHECK(f.out.pieces[1].offset == 100);
  CHECK_FALSE(f.out.pieces[1].glued);
  REQUIRE(f.out.gaps.size() == 1);
  CHECK(f.out.gaps[0] == Gap{4, 100, "copytruncate", 9});
}

}  // namespace logarithm
