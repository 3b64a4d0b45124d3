#include "agent/uplink/recut.h"

#include <doctest/doctest.h>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
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
    const auto cut = recut(whole, resume);
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

TEST_CASE("recut: a damaged block is an error") {
  SpooledBlock block = block_of_lines(3);
  block.block.bytes[block.block.bytes.size() / 2] ^= 1;
  CHECK(!recut(block, 10).ok());
}

}  // namespace logarithm::agent::test
