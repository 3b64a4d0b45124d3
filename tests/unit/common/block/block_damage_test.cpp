#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "common/block/block_reader.h"
#include "common/block/header_codec.h"
#include "common/block/section.h"
#include "common/line/template.h"
#include "tests/support/block_tools.h"
#include "tests/support/mutate.h"
#include "tests/support/random_lines.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

// Reads all that a block may offer, in the ways that readers do; says how far it came.
struct Outcome {
  bool opened = false;
  bool decoded = false;
};

Outcome read_everything(std::string_view bytes, const TemplateTable& table) {
  Outcome out;
  const TemplateLookup lookup = [&table](TemplateId id) { return table(id); };
  const auto size = header_bytes(bytes);
  if (size.ok()) static_cast<void>(parse_block_header(bytes.substr(0, *size)).ok());
  const auto reader = BlockReader::open(bytes);
  out.opened = reader.ok();
  if (!reader.ok()) return out;
  for (const auto part : {BlockPart::facts, BlockPart::fields, BlockPart::text}) {
    const auto lines = reader->lines(part, lookup);
    out.decoded = out.decoded || lines.ok();
    if (lines.ok()) REQUIRE(lines->size() == reader->header().lines);
  }
  return out;
}

std::vector<EncodedBlock> samples() {
  std::vector<EncodedBlock> out;
  for (const std::size_t lines : {1u, 5u, 40u, 120u}) {
    RandomLines random(lines);
    out.push_back(encode(random.make(lines)));
  }
  BlockWriter gaps({{1, 2}, 3}, 0);
  gaps.add_gap({5, 9, "nul_hole", 1});
  out.push_back(gaps.finish(0).value());
  return out;
}

// The block again with one of its sections changed before compression, so that the change reaches
// the columns and not only zstd.
std::string with_changed_section(const EncodedBlock& block, std::mt19937_64& random) {
  const auto parsed = block::decode_header(block.bytes);
  REQUIRE(parsed.ok());
  const std::size_t target = parsed->sections.empty() ? 0 : random() % parsed->sections.size();
  std::string sections;
  std::vector<block::SectionEntry> directory;
  std::size_t at = parsed->header_length;
  for (std::size_t i = 0; i < parsed->sections.size(); ++i) {
    const block::SectionEntry& entry = parsed->sections[i];
    const auto length = static_cast<std::size_t>(entry.stored_length);
    std::string buffer;
    const auto raw =
        block::unpack_section(entry, std::string_view(block.bytes).substr(at, length), buffer);
    REQUIRE(raw.ok());
    std::string changed(*raw);
    if (i == target) mutate(changed, random);
    directory.push_back(
        block::pack_section(static_cast<block::SectionId>(entry.id), changed, sections).value());
    at += length;
  }
  return block::encode_header(parsed->header, directory, sections) + sections;
}

}  // namespace

TEST_CASE("Block: one flipped bit anywhere is found, in the header part also without the rest") {
  RandomLines random(1);
  const std::string good = encode(random.make(3)).bytes;
  const std::size_t header = header_bytes(good).value();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    CAPTURE(bit);
    REQUIRE_FALSE(BlockReader::open(bad).ok());
    if (bit / 8 < header) REQUIRE_FALSE(parse_block_header(bad).ok());
  }
}

TEST_CASE("Block: cut short anywhere it is refused") {
  RandomLines random(2);
  const std::string good = encode(random.make(10)).bytes;
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    std::string bad = good.substr(0, size);
    REQUIRE_FALSE(BlockReader::open(bad).ok());
    reseal_crc(bad);
    REQUIRE_FALSE(BlockReader::open(bad).ok());
  }
  CHECK_FALSE(BlockReader::open(good + "x").ok());
}

TEST_CASE("Block: 10,000 mutations with the checksums made right never crash a reader") {
  const std::uint64_t seed = 20261130;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::vector<EncodedBlock> blocks = samples();
  std::size_t opened = 0;
  std::size_t decoded = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const EncodedBlock& block = blocks[random() % blocks.size()];
    std::string bytes = i % 2 == 0 ? block.bytes : with_changed_section(block, random);
    if (i % 2 == 0) {
      mutate(bytes, random);
      reseal_crc(bytes);
    }
    const Outcome outcome = read_everything(bytes, TemplateTable(block.templates));
    opened += outcome.opened ? 1 : 0;
    decoded += outcome.decoded ? 1 : 0;
    refused += outcome.decoded ? 0 : 1;
  }
  MESSAGE("opened ", opened, " decoded ", decoded, " refused ", refused);
  CHECK(opened > 1000);
  CHECK(decoded > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("Block: template texts that do not fit the block are refused, not believed") {
  RandomLines random(8);
  const EncodedBlock block = encode(random.make(200));
  std::mt19937_64 engine(9);
  for (int i = 0; i < 300; ++i) {
    std::vector<TemplateDef> wrong = block.templates;
    mutate(wrong[engine() % wrong.size()].text, engine);
    static_cast<void>(read_everything(block.bytes, TemplateTable(wrong)));
  }
  std::vector<TemplateDef> slots = block.templates;
  for (TemplateDef& definition : slots) definition.text = std::string(3'000'000, kSlot);
  const auto reader = BlockReader::open(block.bytes);
  const TemplateTable table(slots);
  const auto lines = reader->lines(BlockPart::text, [&table](TemplateId id) { return table(id); });
  REQUIRE_FALSE(lines.ok());
  CHECK(lines.error().code() == ErrorCode::corrupt);
}
