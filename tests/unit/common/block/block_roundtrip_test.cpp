#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/base/utf8.h"
#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/line/template.h"
#include "tests/support/block_tools.h"
#include "tests/support/random_lines.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

constexpr auto kAll = BlockPart::facts | BlockPart::fields | BlockPart::text;

// What `line` looks like when only `parts` are decoded.
Line restricted(const Line& line, BlockPart parts) {
  const auto has = [parts](BlockPart part) {
    return (static_cast<int>(parts) & static_cast<int>(part)) != 0;
  };
  Line out = line;
  if (!has(BlockPart::facts)) {
    out = Line{};
    out.raw = line.raw;
    out.text_begin = line.text_begin;
    out.header_begin = line.header_begin;
    out.body_begin = line.body_begin;
    out.meta = line.meta;
    out.events = line.events;
  }
  if (!has(BlockPart::fields)) {
    out.meta.clear();
    out.events.clear();
  }
  if (!has(BlockPart::text)) {
    out.raw.clear();
    out.text_begin = out.header_begin = out.body_begin = 0;
  }
  return out;
}

void check_same(const std::vector<Line>& expected, const std::vector<Line>& got, BlockPart parts) {
  REQUIRE(expected.size() == got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string differs = difference(restricted(expected[i], parts), got[i]);
    REQUIRE_MESSAGE(differs.empty(), "line ", i, " differs in ", differs);
  }
}

}  // namespace

TEST_CASE("Block: some rows alone are what they are among all") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    const EncodedBlock block = encode(random.make(1 + random.below(300)));
    const std::vector<Line> all = decode(block, kAll);
    const auto size = static_cast<std::uint32_t>(all.size());
    auto reader = BlockReader::open(block.bytes);
    REQUIRE(reader.ok());

    RowSet rows;
    std::vector<Line> expected;
    for (std::uint32_t at = 0; at < size;) {
      const auto first = std::min(size, at + static_cast<std::uint32_t>(random.below(40)));
      at = std::min(size, first + static_cast<std::uint32_t>(random.below(20)) + 1);
      rows.add(first, at);
      expected.insert(expected.end(), all.begin() + first, all.begin() + at);
    }
    const TemplateTable table(block.templates);
    for (const auto parts : {BlockPart::facts | BlockPart::fields, kAll}) {
      auto some = reader->lines(parts, rows, [&](TemplateId id) { return table(id); });
      REQUIRE_MESSAGE(some.ok(), some.error().to_string());
      check_same(expected, *some, parts);
    }

    auto marks = reader->marks(rows);
    REQUIRE_MESSAGE(marks.ok(), marks.error().to_string());
    REQUIRE(marks->size() == expected.size());
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Line& line = expected[i];
      const RowMark mark{line.offset, line.time, line.iteration, line.wrapper_rank};
      CHECK((*marks)[i] == mark);
      offsets.push_back(line.offset);
    }
    auto same_rows = reader->rows_at(offsets);
    REQUIRE(same_rows.ok());
    CHECK(same_rows->count() == rows.count());
    CHECK(same_rows->end() == rows.end());
    CHECK_FALSE(reader->marks(RowSet::all(size + 1)).ok());

    std::vector<std::uint32_t> marked;
    for (std::uint32_t row = 0; row < size; ++row) {
      if (!all[row].events.empty()) marked.push_back(row);
    }
    auto found = reader->event_rows();
    REQUIRE(found.ok());
    CHECK(*found == marked);
    CHECK_FALSE(reader->lines(BlockPart::facts, RowSet::all(size + 1)).ok());
  }
}

TEST_CASE("Block: all rows that contain a text are among those that may") {
  std::size_t told_apart = 0, exact = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    std::vector<Line> lines = random.make(1 + random.below(300));
    // Where raw is what is shown, rows are told exactly.
    if (seed % 2 == 0) {
      std::erase_if(
          lines, [](const Line& line) { return line.transport != 0 || line.has(line_flag::ansi); });
    }
    if (lines.empty()) continue;
    const EncodedBlock block = encode(lines);
    const std::vector<Line> all = decode(block, kAll);
    auto reader = BlockReader::open(block.bytes);
    REQUIRE(reader.ok());
    const TemplateTable table(block.templates);
    for (int question = 0; question < 40; ++question) {
      // A piece of a line, sometimes with a byte that is not there.
      const std::string text = text_of(all[random.below(all.size())]);
      if (text.empty()) continue;
      const std::size_t at = random.below(text.size());
      std::string literal = text.substr(at, 1 + random.below(16));
      if (random.below(4) == 0) literal += "z";
      auto rows = reader->rows_with_text(literal, [&](TemplateId id) { return table(id); });
      REQUIRE_MESSAGE(rows.ok(), rows.error().to_string());
      if (!*rows) continue;
      std::vector<bool> may(all.size());
      for (const RowRange& range : (*rows)->rows.ranges()) {
        std::fill(may.begin() + range.first, may.begin() + range.end, true);
      }
      for (std::size_t row = 0; row < all.size(); ++row) {
        // As lines are shown.
        const bool holds = sanitize_utf8(text_of(all[row])).find(literal) != std::string::npos;
        REQUIRE_MESSAGE((may[row] || !holds), "row ", row, " holds '", literal, "'");
        const bool wrong = (*rows)->exact && may[row] && !holds;
        REQUIRE_FALSE_MESSAGE(wrong, "row ", row, " does not hold '", literal, "'");
        if (!may[row]) ++told_apart;
      }
      if ((*rows)->exact) ++exact;
    }
  }
  CHECK(told_apart > 1000);
  CHECK(exact > 200);
}

TEST_CASE("Block: the rows with a value are those whose metadata has it") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    const EncodedBlock block = encode(random.make(1 + random.below(300)));
    const std::vector<Line> all = decode(block, kAll);
    auto reader = BlockReader::open(block.bytes);
    REQUIRE(reader.ok());
    std::map<std::string, std::vector<std::uint32_t>> expected;
    const auto wanted = [](const MetaValue& value) {
      if (const auto* text = std::get_if<std::string>(&value)) return text->size() % 2 == 0;
      if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole % 3 == 0;
      return !(std::get<double>(value) < 1);
    };
    for (std::uint32_t row = 0; row < all.size(); ++row) {
      for (const MetaPair& pair : all[row].meta) {
        auto& rows = expected[pair.key];
        if (wanted(pair.value) && (rows.empty() || rows.back() != row)) rows.push_back(row);
      }
    }
    expected["nobody has it"];
    for (const auto& [key, rows] : expected) {
      auto found = reader->rows_with_value(key, wanted);
      REQUIRE_MESSAGE(found.ok(), found.error().to_string());
      std::vector<std::uint32_t> got;
      for (const RowRange& range : found->ranges()) {
        for (std::uint32_t row = range.first; row < range.end; ++row) got.push_back(row);
      }
      CHECK_MESSAGE(got == rows, key);
    }
  }
}

TEST_CASE("RowSet: ranges that overlap or touch are one, and count once") {
  RowSet rows;
  rows.add(3, 5);
  rows.add(3, 4);
  rows.add(5, 7);
  rows.add(6, 9);
  rows.add(8, 8);
  rows.add(12, 13);
  REQUIRE(rows.ranges().size() == 2);
  CHECK(rows.ranges()[0].first == 3);
  CHECK(rows.ranges()[0].end == 9);
  CHECK(rows.count() == 7);
  CHECK(rows.end() == 13);
}

TEST_CASE("Block: any lines, cut into blocks anywhere, come back exactly, and again when merged") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    const std::vector<Line> lines = random.make(1 + random.below(400));
    std::vector<EncodedBlock> blocks;
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t count = 1 + random.below(lines.size() - at);
      blocks.push_back(encode({lines.begin() + static_cast<std::ptrdiff_t>(at),
                               lines.begin() + static_cast<std::ptrdiff_t>(at + count)}));
      at += count;
    }

    std::vector<Line> merged;
    for (const EncodedBlock& block : blocks) {
      for (Line& line : decode(block, kAll)) merged.push_back(std::move(line));
    }
    check_same(lines, merged, kAll);

    const EncodedBlock again = encode(merged);
    CHECK(again.header.first == blocks.front().header.first);
    CHECK(again.header.end == blocks.back().header.end);
    check_same(lines, decode(again, kAll), kAll);
  }
}

TEST_CASE("Block: every combination of parts decodes just those members") {
  RandomLines random(99);
  const std::vector<Line> lines = random.make(300);
  const EncodedBlock block = encode(lines);
  for (int parts = 0; parts < 8; ++parts) {
    CAPTURE(parts);
    const auto part = static_cast<BlockPart>(parts);
    check_same(lines, decode(block, part), part);
  }
}

TEST_CASE("Block: with keys only the pairs of these keys are decoded, in their order") {
  RandomLines random(98);
  const std::vector<Line> lines = random.make(300);
  const EncodedBlock block = encode(lines);
  std::vector<std::string> keys = {"no such key"};
  for (const FieldStats& field : block.header.fields) {
    if (keys.size() < 3 && keys.back() != field.key) keys.push_back(field.key);
  }
  REQUIRE(keys.size() == 3);
  std::vector<Line> expected = lines;
  for (Line& line : expected) {
    std::erase_if(line.meta, [&](const MetaPair& pair) {
      return std::find(keys.begin(), keys.end(), pair.key) == keys.end();
    });
  }
  auto reader = BlockReader::open(block.bytes);
  REQUIRE(reader.ok());
  const auto parts = BlockPart::facts | BlockPart::fields;
  auto got = reader->lines(
      parts, [](TemplateId) { return std::nullopt; }, &keys);
  REQUIRE(got.ok());
  check_same(expected, *got, parts);
}

TEST_CASE("Block: every byte value in raw, keys and values survives") {
  std::vector<Line> lines;
  for (int value = 0; value < 256; ++value) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      Line& line = lines.emplace_back();
      line.raw = "a" + std::string(1, static_cast<char>(value)) + "b 7";
      line.offset = lines.size() * 10;
      line.length = 6;
      line.head = line.offset;
      line.template_id = template_of(line.raw);
      line.meta.push_back({std::string(1, static_cast<char>(value)), line.raw, false});
    }
  }
  check_same(lines, decode(encode(lines), kAll), kAll);
}

TEST_CASE("Block: only gaps, or nothing but a range, is a block") {
  BlockWriter writer({{1, 2}, 3}, 4);
  CHECK(writer.empty());
  writer.add_gap({100, 200, "nul_hole", 7});
  writer.add_gap({200, std::nullopt, "deleted", -7});
  CHECK_FALSE(writer.empty());
  const auto block = writer.finish(5);
  REQUIRE(block.ok());
  const auto reader = BlockReader::open(block->bytes);
  REQUIRE(reader.ok());
  CHECK(reader->header().first == 100);
  CHECK(reader->header().end == 200);
  CHECK(reader->header().gaps.size() == 2);
  CHECK(reader->header().gaps[1] == Gap{200, std::nullopt, "deleted", -7});
  CHECK(reader->lines(kAll, no_templates).value().empty());

  CHECK(writer.empty());
  writer.set_first(7);
  writer.set_end(9);
  const auto range = writer.finish(0);
  REQUIRE(range.ok());
  CHECK(BlockReader::open(range->bytes)->header().first == 7);
  CHECK(BlockReader::open(range->bytes)->header().end == 9);
}

TEST_CASE("Block: a template that the lookup does not know is not_found and named") {
  std::vector<Line> lines(3);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].raw = "step " + std::to_string(i);
    lines[i].offset = i * 10;
    lines[i].length = 7;
    lines[i].template_id = template_of(lines[i].raw);
  }
  const EncodedBlock block = encode(lines);
  REQUIRE(block.templates.size() == 1);
  CHECK(block.templates[0].text == std::string("step ") + kSlot);
  const auto reader = BlockReader::open(block.bytes);
  const auto refused = reader->lines(BlockPart::text, no_templates);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::not_found);
  CHECK(reader->lines(BlockPart::facts | BlockPart::fields, no_templates).ok());
}

TEST_CASE("BlockWriter: refuses lines out of order and what readers would refuse") {
  BlockWriter writer({}, 0);
  Line line;
  line.offset = 5;
  line.length = 1;
  writer.add(line);
  writer.add(line);
  CHECK(writer.finish(0).error().code() == ErrorCode::invalid);
  CHECK(writer.empty());

  line.raw = std::string(1u << 20, 'x');
  for (std::uint64_t i = 0; i < 65; ++i) {
    line.offset = i << 21;
    writer.add(line);
  }
  CHECK(writer.finish(0).error().code() == ErrorCode::too_large);
}
