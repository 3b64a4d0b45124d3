#include "common/block/token_filter.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/block/block_reader.h"
#include "common/line/template.h"
#include "tests/support/block_tools.h"
#include "tests/support/random_lines.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

Line text_line(std::string raw, std::uint64_t offset) {
  Line line;
  line.raw = std::move(raw);
  line.offset = offset;
  line.length = line.raw.size() + 1;
  line.head = offset;
  line.terminator = Terminator::lf;
  line.template_id = template_of(line.raw);
  return line;
}

std::vector<Line> text_lines(const std::vector<std::string>& texts) {
  std::vector<Line> lines;
  std::uint64_t offset = 0;
  for (const std::string& text : texts) {
    lines.push_back(text_line(text, offset));
    offset = lines.back().end();
  }
  return lines;
}

bool may_contain(const EncodedBlock& block, std::string_view literal) {
  return may_contain_literal(block.header, literal, [&block](std::string_view token) {
    for (const TemplateDef& definition : block.templates) {
      if (definition.text.find(token) != std::string::npos) return true;
    }
    return false;
  });
}

}  // namespace

TEST_CASE("TokenFilter: never misses a token and rarely invents one") {
  std::mt19937_64 random(5);
  for (const std::size_t count : {1u, 7u, 100u, 20'000u}) {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < count; ++i) hashes.push_back(token_hash(std::to_string(random())));
    const std::string filter = make_token_filter(hashes);
    for (const std::uint64_t hash : hashes) REQUIRE(filter_may_contain(filter, hash));
    std::size_t wrong = 0;
    for (int i = 0; i < 20'000; ++i) {
      wrong += filter_may_contain(filter, token_hash("x" + std::to_string(random()))) ? 1 : 0;
    }
    CAPTURE(count);
    CAPTURE(wrong);
    CHECK(wrong < 300);
    CHECK(filter.size() <= 1 + 32 + count * 21 / 16);
  }
}

TEST_CASE("TokenFilter: an empty filter holds nothing, an unreadable one everything") {
  CHECK_FALSE(filter_may_contain(make_token_filter({}), 1));
  CHECK(filter_may_contain("\x01", 1));
  CHECK(filter_may_contain(std::string(33, '\x63'), 1));
  CHECK(filter_may_contain(std::string(32, '\x01'), 1));
}

TEST_CASE("TokenFilter: hashes are the format and stay what they are") {
  CHECK(token_hash("host003") == 11607769991479226454ull);
  CHECK(token_hash("a_longer_token_than_8") == 3591659800271743673ull);
}

TEST_CASE("ProvableTokens: only words with a separator on both sides inside the literal") {
  using Words = std::vector<std::string>;
  CHECK(provable_tokens("host003") == Words{});
  CHECK(provable_tokens("a host003 b") == Words{"host003"});
  CHECK(provable_tokens(" host003") == Words{});
  CHECK(provable_tokens("=host003 x_1 ") == Words{"host003", "x_1"});
  CHECK(provable_tokens(" \xC3\xA4h ") == Words{"\xC3\xA4h"});
  CHECK(provable_tokens(" a\xEF\xBF\xBD"
                        "b ") == Words{});
  CHECK(provable_tokens("") == Words{});
}

TEST_CASE("TokenFilter: words that span literal and variable, parts, or plain text are found") {
  std::vector<std::string> texts;
  for (int i = 0; i < 6; ++i) {
    texts.push_back("INFO host00" + std::to_string(i) + "x step=" + std::to_string(1000 + i) +
                    " ok");
  }
  texts.push_back("lonely words here too");
  std::vector<Line> lines = text_lines(texts);
  for (std::size_t i = 0; i < 6; ++i) {
    lines[i].header_begin = lines[i].body_begin = 2;  // cuts INFO in two: IN | FO host…
    lines[i].template_id = template_of(std::string_view(texts[i]).substr(2));
  }
  const EncodedBlock block = encode(lines);
  REQUIRE(block.header.stored_templates.size() == 2);
  for (const char* found :
       {" host003x ", "=1004 ", " ok", "INFO", "host", " words here ", "INFO h"}) {
    CAPTURE(found);
    CHECK(may_contain(block, found));
  }
  const EncodedBlock spaced = encode(text_lines({" INFO x 1", " INFO x 2", " INFO x 3"}));
  CHECK(may_contain(spaced, " INFO "));
  CHECK(filter_may_contain(spaced.header.filter, token_hash("2")));
  for (const char* missing : {" host009x ", "=999 ", " lonelywords ", "lonely word here"}) {
    CAPTURE(missing);
    CHECK_FALSE(may_contain(block, missing));
  }
}

TEST_CASE("TokenFilter: pruning never loses a line, whatever the lines and the literal") {
  std::size_t pruned = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RandomLines random(seed);
    const std::vector<Line> lines = random.make(60);
    std::vector<Line> kept;
    for (const Line& line : lines) {
      if (!line.has(line_flag::progress)) kept.push_back(line);
    }
    const EncodedBlock block = encode(kept);
    for (int i = 0; i < 200; ++i) {
      const std::string text = text_of(lines[random.below(lines.size())]);
      const std::size_t begin = random.below(text.size() + 1);
      const std::string literal = text.substr(begin, 1 + random.below(30));
      bool occurs = false;
      for (const Line& line : kept) {
        occurs = occurs || text_of(line).find(literal) != std::string::npos;
      }
      const bool may = may_contain(block, literal);
      pruned += may ? 0 : 1;
      CAPTURE(literal);
      REQUIRE((may || !occurs));
    }
  }
  CHECK(pruned > 0);
}

TEST_CASE("TokenFilter: redraws are outside it, so a block with some is always scanned") {
  std::vector<Line> lines = text_lines({"50% eta 17s done", "a b"});
  lines[0].flags = line_flag::progress;
  const EncodedBlock block = encode(lines);
  CHECK_FALSE(filter_may_contain(block.header.filter, token_hash("eta")));
  CHECK(may_contain(block, " eta "));
}

TEST_CASE("TokenFilter: words of a coloured line are those without the escape sequences") {
  std::vector<Line> lines = text_lines({"x \x1b[31mERROR\x1b[0m y"});
  lines[0].flags = line_flag::ansi;
  CHECK(may_contain(encode(lines), " ERROR "));
}
