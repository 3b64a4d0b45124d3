#include <doctest/doctest.h>
#include <zstd.h>

#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/line/template.h"
#include "tests/support/block_tools.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

void add(std::vector<Line>& lines, std::string raw, std::size_t header, UnixNanos time) {
  Line line;
  line.offset = lines.empty() ? 0 : lines.back().end();
  line.raw = std::move(raw);
  line.length = line.raw.size() + 1;
  line.terminator = Terminator::lf;
  line.head = line.offset;
  line.body_begin = static_cast<std::uint32_t>(header);
  line.time = time;
  line.observed = time / 1'000'000'000 * 1'000'000'000;
  line.template_id = template_of(std::string_view(line.raw).substr(header));
  lines.push_back(std::move(line));
}

std::size_t raw_size(const std::vector<Line>& lines) {
  std::size_t size = 0;
  for (const Line& line : lines) size += line.raw.size() + 1;
  return size;
}

std::size_t zstd_size(const std::vector<Line>& lines) {
  std::string all;
  for (const Line& line : lines) all += line.raw + "\n";
  std::string out(ZSTD_compressBound(all.size()), '\0');
  return ZSTD_compress(out.data(), out.size(), all.data(), all.size(), 1);
}

std::vector<Line> training_lines(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<Line> lines;
  UnixNanos time = 1'796'000'000'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<UnixNanos>(random() % 900'000'000) / 1000 * 1000;
    const auto seconds = static_cast<unsigned>(time / 1'000'000'000 % 86'400);
    std::array<char, 256> text{};
    const int header =
        std::snprintf(text.data(), text.size(), "I1130 %02u:%02u:%02u.%06u 4242 trainer.cpp:77] ",
                      (seconds / 3600 + 5) % 24, seconds / 60 % 60, seconds % 60,
                      static_cast<unsigned>(time % 1'000'000'000 / 1000));
    std::snprintf(text.data() + header, text.size() - static_cast<std::size_t>(header),
                  "iteration %zu/ 500000 | lm loss: %u.%06u | grad norm: %u.%03u | on host003", i,
                  static_cast<unsigned>(random() % 4), static_cast<unsigned>(random() % 1'000'000),
                  static_cast<unsigned>(random() % 3), static_cast<unsigned>(random() % 1000));
    add(lines, text.data(), static_cast<std::size_t>(header), time);
  }
  return lines;
}

}  // namespace

TEST_CASE("Block size: lines that repeat take less than zstd -1 of the text, columns included") {
  const std::vector<Line> lines = training_lines(8000);
  const EncodedBlock block = encode(lines);
  const std::size_t filter = block.header.filter.size();
  MESSAGE("raw ", raw_size(lines), " block ", block.bytes.size(), " (filter ", filter, ") zstd-1 ",
          zstd_size(lines));
  CHECK(block.bytes.size() < zstd_size(lines));
}

TEST_CASE("Block size: the header's time is given back from the time column") {
  std::vector<Line> lines = training_lines(2000);
  const std::size_t given_back = encode(lines).bytes.size();
  for (Line& line : lines) line.time += 123'456'000;  // as costly, but not what the text shows
  CHECK(given_back + 3 * lines.size() < encode(lines).bytes.size());
}

TEST_CASE("Block size: random words stay plain and never pass the raw size") {
  std::mt19937_64 random(2);
  std::vector<Line> lines;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    while (text.size() < 90) {
      text.push_back(random() % 6 == 0 ? ' ' : static_cast<char>('a' + random() % 26));
    }
    add(lines, text, 0, 0);
  }
  const EncodedBlock block = encode(lines);
  CHECK(block.header.stored_templates.empty());
  CHECK(block.bytes.size() - block.header.filter.size() < raw_size(lines));
}

TEST_CASE("Block size: a block of one short line has little overhead") {
  std::vector<Line> lines;
  add(lines, "hello world", 0, 1'796'000'000'000'000'000);
  CHECK(encode(lines).bytes.size() < 260);
}

TEST_CASE("Block size: columns that say the same of every line cost next to nothing") {
  std::vector<Line> lines;
  for (int i = 0; i < 5000; ++i) add(lines, "tick", 0, 1'796'000'000'000'000'000);
  CHECK(encode(lines).bytes.size() < 400);
}
