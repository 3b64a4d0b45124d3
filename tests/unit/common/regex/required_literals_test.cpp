#include "common/regex/required_literals.h"

#include <doctest/doctest.h>

#include <random>

#include "common/regex/regex.h"

namespace logarithm {
namespace {

using Literals = std::vector<std::string>;

// A random pattern over a small alphabet, and (with the same choices) a text that it matches.
class RandomPattern {
 public:
  explicit RandomPattern(std::uint32_t seed) : random_(seed) {}

  std::string pattern(int depth) {
    std::string out;
    const int parts = 1 + pick(4);
    for (int i = 0; i < parts; ++i) out += part(depth);
    if (depth > 0 && pick(4) == 0) out += "|" + pattern(depth - 1);
    return out;
  }
  std::string text() {
    std::string out;
    const int size = pick(24);
    static const std::string kBytes = "abAB.-{1 \n\xC3\xA9";
    for (int i = 0; i < size; ++i) {
      out.push_back(kBytes[static_cast<std::size_t>(pick(static_cast<int>(kBytes.size())))]);
    }
    return out;
  }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  std::string part(int depth) {
    static const char* const kAtoms[] = {
        "a",     "b",   "A",     "ab",           ".",    "\\.",  "[ab]",    "[^a]",
        "[a]",   "\\w", "\\x61", "\\Qa.b\\E",    "^",    "$",    "\\b",     "(?i)",
        "(?-i)", "{",   "-",     "[[:alpha:]b]", "\\pL", "[]a]", "\\x{62}", "1"};
    static const char* const kRepeats[] = {"",  "",    "",      "",   "*",   "+",
                                           "?", "{2}", "{0,2}", "+?", "{1,}"};
    std::string atom;
    if (depth > 0 && pick(3) == 0) {
      static const char* const kOpen[] = {"(", "(?:", "(?i:", "(?-i:"};
      atom = kOpen[pick(4)] + pattern(depth - 1) + ")";
    } else {
      atom = kAtoms[pick(static_cast<int>(std::size(kAtoms)))];
    }
    return atom + kRepeats[pick(static_cast<int>(std::size(kRepeats)))];
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("Required literals: what every match contains, longest first") {
  struct Case {
    const char* pattern;
    Literals expected;
  };
  const Case cases[] = {
      {"NCCL WARN (?P<m>.*)$", {"NCCL WARN "}},
      {"a(?:bc)+d", {"bc", "a", "d"}},
      {"colou?r", {"colo", "r"}},
      {"foo|bar", {}},
      {"xfoo|foo", {"foo"}},
      {"(?:foo|foo) bar", {"foo bar"}},
      {"(?i)abc-1", {"-1"}},
      {"(?i:ab)cd", {"cd"}},
      {"x{2,}y", {"x", "y"}},
      {"x{0,3}y", {"y"}},
      {"a\\.b\\[1\\]", {"a.b[1]"}},
      {"\\Qa+b\\E c", {"a+b c"}},
      {".*", {}},
      {"[ab]c", {"c"}},
      {"a{", {"a{"}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.pattern));
    REQUIRE(Regex::compile(c.pattern, RegexMode::utf8).ok());
    CHECK(required_literals_of(c.pattern, true, false) == c.expected);
  }
  CHECK(required_literals_of("abc-1", true, true) == Literals{"-1"});
}

TEST_CASE("Required literals: every text that matches a random pattern contains them all") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  RandomPattern random(seed);
  int matches = 0, with_literals = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::string pattern = random.pattern(2);
    const bool fold = round % 5 == 0;
    const auto mode = round % 2 == 0 ? RegexMode::utf8 : RegexMode::latin1;
    const auto regex = Regex::compile(pattern, mode, fold);
    if (!regex.ok()) continue;
    const auto literals = regex->required_literals();
    with_literals += literals.empty() ? 0 : 1;
    for (int i = 0; i < 20; ++i) {
      const std::string text = random.text();
      if (!regex->search(text)) continue;
      ++matches;
      for (const auto& literal : literals) {
        CAPTURE(pattern);
        CAPTURE(std::string(text));
        CAPTURE(literal);
        REQUIRE(text.find(literal) != std::string::npos);
      }
    }
  }
  CHECK(matches > 1000);
  CHECK(with_literals > 500);
}

}  // namespace logarithm
