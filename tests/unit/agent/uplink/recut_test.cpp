#include "agent/uplink/recut.h"

#include <doctest/doctest.h>

#include <random>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/io/crc32c.h"
#include "common/line/template.h"

namespace logarithm::agent::test {
namespace {

SpooledBlock block_of_lines(std::uint64_t count) {
  BlockWriter writer({{1, 2}, 0}, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    Line line;
    line.offset = line.head = i * 10;
    line.length = 10;
    line.raw = "line    " + std::to_string(i % 10);
    line.terminator = Terminator::lf;
    line.template_id = template_of(line.raw);
    writer.add(line);
  }
  auto encoded = writer.finish(77);
  REQUIRE(encoded.ok());
  SpooledBlock block;
  block.number = 3;
  block.block.stream = encoded->header.stream;
  block.block.job = "job";
  block.block.first = encoded->header.first;
  block.block.end = encoded->header.end;
  block.block.bytes = encoded->bytes;
  block.templates = encoded->templates;
  return block;
}

}  // namespace

TEST_CASE("recut: the lines from the resume point on, covering exactly what is left") {
  const SpooledBlock whole = block_of_lines(10);
  for (const std::uint64_t resume : {10u, 50u, 90u, 95u}) {
    CAPTURE(resume);
    const auto cut = recut(whole, Recut{resume, false, SIZE_MAX});
    REQUIRE(cut.ok());
    CHECK(cut->number == 3);
    CHECK(cut->block.first == resume);
    CHECK(cut->block.end == 100);
    const auto reader = BlockReader::open(cut->block.bytes);
    REQUIRE(reader.ok());
    CHECK(reader->header().first == resume);
    CHECK(reader->header().end == 100);
    CHECK(reader->header().tail_crc == 77);
    CHECK(reader->header().lines == (100 - resume) / 10);
  }
}

TEST_CASE("recut: plain, the lines stay and no template is needed") {
  const SpooledBlock whole = block_of_lines(10);
  REQUIRE(!whole.templates.empty());

  const auto cut = recut(whole, Recut{0, true, SIZE_MAX});

  REQUIRE(cut.ok());
  CHECK(cut->templates.empty());
  const auto reader = BlockReader::open(cut->block.bytes);
  REQUIRE(reader.ok());
  CHECK(reader->header().stored_templates.empty());
  const auto lines = reader->lines(BlockPart::facts | BlockPart::fields | BlockPart::text,
                                   [](TemplateId) { return std::optional<std::string_view>(); });
  REQUIRE(lines.ok());
  REQUIRE(lines->size() == 10);
  CHECK((*lines)[7].raw == "line    7");
  CHECK((*lines)[7].template_id == template_of("line    7"));
}

TEST_CASE("recut: pieces within a limit follow one another to the end, and lose no line") {
  // Lines that no template fits, so that a block's size follows their number.
  std::mt19937_64 random(5);
  BlockWriter writer({{1, 2}, 0}, 0);
  std::string all;
  constexpr std::uint64_t kLines = 500;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    Line line;
    line.offset = line.head = all.size();
    for (int c = 0; c < 79; ++c) line.raw += static_cast<char>('!' + random() % 90);
    line.length = 80;
    line.terminator = Terminator::lf;
    line.template_id = template_of(line.raw);
    writer.add(line);
    all += line.raw + "\n";
  }
  auto encoded = writer.finish(77);
  REQUIRE(encoded.ok());
  SpooledBlock whole;
  whole.block.stream = encoded->header.stream;
  whole.block.end = encoded->header.end;
  whole.block.bytes = encoded->bytes;
  whole.templates = encoded->templates;

  const std::size_t most = whole.block.bytes.size() / 3;
  std::uint64_t at = 0, lines = 0;
  int pieces = 0;
  while (at < all.size() && ++pieces < 100) {
    const auto piece = recut(whole, Recut{at, false, most});
    REQUIRE(piece.ok());
    CHECK(piece->block.bytes.size() <= most);
    CHECK(piece->block.first == at);
    const auto reader = BlockReader::open(piece->block.bytes);
    REQUIRE(reader.ok());
    CHECK(reader->header().gaps.empty());
    lines += reader->header().lines;
    at = piece->block.end;
    const std::string tail = all.substr(at - kTailBytes, kTailBytes);
    CHECK(reader->header().tail_crc == (at < all.size() ? crc32c(tail) : 77));
  }
  CHECK(at == all.size());
  CHECK(lines == kLines);
  CHECK(pieces > 2);
}

TEST_CASE("recut: a line that alone is over the limit becomes a gap, and what follows is whole") {
  BlockWriter writer({{1, 2}, 0}, 0);
  std::string noise;
  for (int i = 0; i < 4000; ++i) noise += static_cast<char>('!' + (i * 7919 + i * i % 31) % 90);
  Line big;
  big.length = noise.size() + 1;
  big.raw = noise;
  big.terminator = Terminator::lf;
  big.template_id = template_of(big.raw);
  Line small;
  small.offset = small.head = big.length;
  small.length = 3;
  small.raw = "ok";
  small.terminator = Terminator::lf;
  small.template_id = template_of(small.raw);
  writer.add(big);
  writer.add(small);
  auto encoded = writer.finish(1);
  REQUIRE(encoded.ok());
  SpooledBlock block;
  block.block.stream = encoded->header.stream;
  block.block.end = encoded->header.end;
  block.block.bytes = encoded->bytes;
  block.templates = encoded->templates;

  const auto gap = recut(block, Recut{0, false, 1000});
  REQUIRE(gap.ok());
  const auto reader = BlockReader::open(gap->block.bytes);
  REQUIRE(reader.ok());
  CHECK(reader->header().lines == 0);
  REQUIRE(reader->header().gaps.size() == 1);
  CHECK(reader->header().gaps[0].reason == "too_large");
  CHECK(gap->block.end == big.length);
  const auto rest = recut(block, Recut{gap->block.end, false, 1000});
  REQUIRE(rest.ok());
  CHECK(rest->block.end == block.block.end);
}

TEST_CASE("recut: a damaged block is an error") {
  SpooledBlock block = block_of_lines(3);
  block.block.bytes[block.block.bytes.size() / 2] ^= 1;
  CHECK(!recut(block, Recut{10, false, SIZE_MAX}).ok());
}

}  // namespace logarithm::agent::test
