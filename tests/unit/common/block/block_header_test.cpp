#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/line/template.h"
#include "tests/support/block_tools.h"
#include "tests/support/random_lines.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

const FieldStats& field(const BlockHeader& header, std::string_view key, MetaType type) {
  for (const FieldStats& stats : header.fields) {
    if (stats.key == key && stats.type == type) return stats;
  }
  FAIL("no such field");
  return header.fields.front();
}

std::vector<Line> two_lines() {
  std::vector<Line> lines(2);
  for (std::size_t i = 0; i < 2; ++i) {
    lines[i].raw = "abc";
    lines[i].terminator = Terminator::crlf;
    lines[i].offset = 100 + 5 * i;
    lines[i].length = 5;
    lines[i].head = lines[i].offset;
    lines[i].template_id = template_of("abc");
  }
  return lines;
}

}  // namespace

TEST_CASE("BlockHeader: says of the lines what pruning needs") {
  std::vector<Line> lines = two_lines();
  lines[0].time = -5;
  lines[1].time = 9;
  lines[0].severity = Severity::error;
  lines[1].flags = line_flag::glued;
  lines[1].iteration = std::numeric_limits<std::int64_t>::min();
  lines[0].wrapper_rank = -1;
  lines[1].callsite = "b.py:2";
  lines[0].callsite = "a.py:1";
  lines[0].events = {{"r", "xid", "root"}, {"r", "xid", "root"}};
  const BlockHeader header = encode(lines).header;

  CHECK(header.first == 100);
  CHECK(header.end == 110);
  CHECK(header.lines == 2);
  CHECK(header.raw_bytes == 10);
  CHECK(header.tail_crc == 0xCAFEBABEu);
  CHECK(header.mask_version == kMaskVersion);
  CHECK(header.attributes_version == 3);
  CHECK(header.time.min == -5);
  CHECK(header.time.max == 9);
  CHECK(header.severities == (1 << 5 | 1 << 0));
  CHECK(header.flags_any == line_flag::glued);
  REQUIRE(header.iteration);
  CHECK(header.iteration->min == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(header.all_have_iteration);
  REQUIRE(header.wrapper_rank);
  CHECK(header.wrapper_rank->max == -1);
  CHECK(header.callsites == std::vector<std::string>{"a.py:1", "b.py:2"});
  CHECK(header.has_callsite);
  CHECK(header.body_templates == std::vector<TemplateId>{template_of("abc")});
  CHECK(header.stored_templates.empty());  // does not repeat often enough
  CHECK(header.has_plain_text);
  CHECK(header.events == std::vector<EventMark>{{"r", "xid", "root"}});
}

TEST_CASE("BlockHeader: min and max are per key and type and ignore NaN, which has its own mark") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Line> lines = two_lines();
  lines[0].meta = {{"loss", 2.5, true}, {"loss", std::int64_t{7}, false}, {"g", nan, false}};
  lines[1].meta = {
      {"loss", nan, false}, {"loss", -HUGE_VAL, false}, {"loss", std::string("x"), true}};
  const BlockHeader header = encode(lines).header;

  CHECK(header.fields.size() == 4);
  const FieldStats& loss = field(header, "loss", MetaType::float64);
  CHECK(loss.count == 3);
  CHECK(loss.has_nan);
  CHECK(loss.doubles.min == -HUGE_VAL);
  CHECK(loss.doubles.max == 2.5);
  CHECK(field(header, "loss", MetaType::int64).ints.max == 7);
  CHECK(field(header, "loss", MetaType::string).count == 1);
  const FieldStats& only_nan = field(header, "g", MetaType::float64);
  CHECK(only_nan.has_nan);
  CHECK(only_nan.doubles.min > only_nan.doubles.max);
}

TEST_CASE("BlockHeader: the header part alone parses to what the whole block says") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    const EncodedBlock block = encode(random.make(80));
    const auto size = header_bytes(block.bytes);
    REQUIRE(size.ok());
    REQUIRE(*size < block.bytes.size());
    const auto alone = parse_block_header(std::string_view(block.bytes).substr(0, *size));
    const auto whole = parse_block_header(block.bytes);
    REQUIRE(alone.ok());
    REQUIRE(whole.ok());
    for (const BlockHeader* header : {&*alone, &*whole}) {
      CHECK(header->stream == block.header.stream);
      CHECK(header->lines == block.header.lines);
      CHECK(header->end == block.header.end);
      CHECK(header->callsites == block.header.callsites);
      CHECK(header->body_templates == block.header.body_templates);
      CHECK(header->stored_templates == block.header.stored_templates);
      CHECK(header->events == block.header.events);
      CHECK(header->filter == block.header.filter);
      CHECK(header->fields.size() == block.header.fields.size());
      CHECK(header->time.min == block.header.time.min);
      CHECK(header->observed.max == block.header.observed.max);
      CHECK(header->all_have_iteration == block.header.all_have_iteration);
    }
    CHECK_FALSE(BlockReader::open(std::string_view(block.bytes).substr(0, *size)).ok());
  }
}

TEST_CASE("BlockHeader: stored templates come with their definitions, by ascending id") {
  RandomLines random(4);
  const EncodedBlock block = encode(random.make(300));
  REQUIRE(block.templates.size() == block.header.stored_templates.size());
  std::set<TemplateKind> kinds;
  for (std::size_t i = 0; i < block.templates.size(); ++i) {
    CHECK(block.templates[i].id == block.header.stored_templates[i]);
    CHECK(block.templates[i].id == fingerprint(block.templates[i].text));
    kinds.insert(block.templates[i].kind);
  }
  CHECK(kinds.size() == 3);
}

TEST_CASE("BlockReader: a newer version is unavailable, an unknown one corrupt") {
  std::string newer = encode(two_lines()).bytes;
  newer[4] = 2;
  reseal_crc(newer);
  CHECK(BlockReader::open(newer).error().code() == ErrorCode::unavailable);
  std::string zero = newer;
  zero[4] = 0;
  reseal_crc(zero);
  CHECK(BlockReader::open(zero).error().code() == ErrorCode::corrupt);
  CHECK(BlockReader::open("LGBK").error().code() == ErrorCode::corrupt);
  CHECK(header_bytes("").error().code() == ErrorCode::corrupt);
}
