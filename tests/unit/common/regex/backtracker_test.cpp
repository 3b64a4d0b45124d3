#include "common/regex/backtracker.h"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "common/base/clock.h"

namespace logarithm {
namespace {

using Places = std::vector<std::int32_t>;

// What RE2 says, in the backtracker's form; empty: no match.
Places by_re2(const std::string& pattern, const std::string& text, std::size_t from) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  const RE2 re(pattern, options);
  REQUIRE(re.ok());
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(re.NumberOfCapturingGroups()) + 1);
  Places places;
  if (!re.Match(text, from, text.size(), RE2::UNANCHORED, groups.data(),
                static_cast<int>(groups.size()))) {
    return places;
  }
  for (const auto& group : groups) {
    const bool took_part = group.data() != nullptr;
    const auto begin = took_part ? static_cast<std::int32_t>(group.data() - text.data()) : -1;
    places.push_back(begin);
    places.push_back(took_part ? begin + static_cast<std::int32_t>(group.size()) : -1);
  }
  return places;
}

std::size_t groups_of(const std::string& pattern) {
  return static_cast<std::size_t>(RE2(pattern, RE2::Latin1).NumberOfCapturingGroups()) + 1;
}

// Patterns of the kinds that rules are made of, from few letters so that they often match.
class PatternMaker {
 public:
  explicit PatternMaker(std::mt19937& random) : random_(random) {}

  std::string alternation(int depth) {
    std::string out = sequence(depth);
    while (pick(5) == 0) out += "|" + sequence(depth);
    return out;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string sequence(int depth) {
    std::string out;
    for (unsigned i = 0; i < pick(5); ++i) out += repeated(depth);
    return out;
  }
  std::string repeated(int depth) {
    static const char* const kTimes[] = {"*",  "+",   "?",     "*?",     "+?",
                                         "??", "{2}", "{1,3}", "{0,2}?", "{2,}"};
    std::string out = atom(depth);
    if (pick(3) == 0 && out != "^" && out != "$" && out[0] != '\\') out += kTimes[pick(10)];
    return out;
  }
  std::string atom(int depth) {
    static const char* const kAtoms[] = {"a",   "b",   "c",    "ab",   "1",      ".",     "\\d",
                                         "\\w", "\\s", "[ab]", "[^a]", "[a-c1]", "\\b",   "^",
                                         "$",   "\\B", " ",    "-",    "\\.",    "(?i:e)"};
    if (depth > 0 && pick(4) == 0) return "(" + alternation(depth - 1) + ")";
    if (depth > 0 && pick(6) == 0) return "(?:" + alternation(depth - 1) + ")";
    return kAtoms[pick(20)];
  }
  std::mt19937& random_;
};

}  // namespace

TEST_CASE("Backtracker: finds what RE2 finds, group by group, for random patterns and texts") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  PatternMaker maker(random);
  int compiled = 0, matched = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string pattern = maker.alternation(3);
    CAPTURE(pattern);
    if (!RE2(pattern, RE2::Latin1).ok()) continue;
    const auto fast = Backtracker::compile(pattern, false, groups_of(pattern));
    if (!fast) continue;
    ++compiled;
    for (int k = 0; k < 8; ++k) {
      std::string text;
      for (unsigned i = 0; i < random() % 12; ++i)
        text.push_back("abcBeE1 -.\n\xFF"[random() % 12]);
      const std::size_t from = random() % 3 == 0 ? random() % (text.size() + 1) : 0;
      CAPTURE(text);
      CAPTURE(from);
      Places places;
      const auto outcome = fast->search(text, from, places);
      if (outcome == Backtracker::Outcome::gave_up) continue;
      const Places expected = by_re2(pattern, text, from);
      CHECK((outcome == Backtracker::Outcome::match) == !expected.empty());
      if (outcome == Backtracker::Outcome::match) {
        CHECK(places == expected);
        ++matched;
      }
    }
  }
  CHECK(compiled > 1500);
  CHECK(matched > 3000);
}

TEST_CASE("Backtracker: digits whose values it does not look at may be any others") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  PatternMaker maker(random);
  int blind = 0, watched = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string pattern = maker.alternation(3);
    CAPTURE(pattern);
    if (!RE2(pattern, RE2::Latin1).ok()) continue;
    const auto fast = Backtracker::compile(pattern, false, groups_of(pattern));
    if (!fast) continue;
    for (int k = 0; k < 4; ++k) {
      std::string text;
      for (unsigned i = 0; i < random() % 12; ++i) text.push_back("abc1122E .-"[random() % 11]);
      CAPTURE(text);
      DigitWatch watch;
      Places places, plain;
      const auto outcome = fast->search(text, 0, places, watch);
      REQUIRE(outcome == fast->search(text, 0, plain));
      if (outcome == Backtracker::Outcome::match) REQUIRE(places == plain);
      ++(watch.places().empty() ? blind : watched);
      const auto looked_at = [&](std::size_t i) {
        return std::find(watch.places().begin(), watch.places().end(), i) != watch.places().end();
      };
      for (int other = 0; other < 4 && !watch.all(); ++other) {
        for (std::size_t i = 0; i < text.size(); ++i) {
          const bool digit = text[i] >= '0' && text[i] <= '9';
          if (digit && !looked_at(i)) text[i] = static_cast<char>('0' + random() % 10);
        }
        REQUIRE(outcome == fast->search(text, 0, plain));
        if (outcome == Backtracker::Outcome::match) CHECK(places == plain);
      }
    }
  }
  CHECK(blind > 2000);
  CHECK(watched > 500);
}

TEST_CASE("Backtracker: numbers whose widths it does not look at may have any") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  PatternMaker maker(random);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  int free = 0, fixed = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string pattern = maker.alternation(3);
    CAPTURE(pattern);
    if (!RE2(pattern, RE2::Latin1).ok()) continue;
    const auto fast = Backtracker::compile(pattern, false, groups_of(pattern));
    if (!fast) continue;
    for (int k = 0; k < 8; ++k) {
      std::string text;
      for (unsigned i = 0; i < random() % 12; ++i) text.push_back("abc1122E .-"[random() % 11]);
      CAPTURE(text);
      DigitWatch watch;
      Places places;
      const auto outcome = fast->search(text, 0, places, watch);
      if (outcome == Backtracker::Outcome::gave_up || watch.all()) continue;
      for (int other = 0; other < 4; ++other) {
        // The text with other numbers, and where its bytes went.
        std::string wide;
        std::vector<std::int32_t> to(text.size() + 1, -1);
        for (std::size_t i = 0; i < text.size();) {
          to[i] = static_cast<std::int32_t>(wide.size());
          if (!is_digit(text[i])) {
            wide += text[i++];
            continue;
          }
          bool noted = false;
          std::size_t end = i;
          for (; end < text.size() && is_digit(text[end]); ++end) {
            noted = noted || watch.noted_width(end);
          }
          ++(noted ? fixed : free);
          for (std::size_t n = noted ? 0 : 1 + random() % 4; n > 0; --n) {
            wide += static_cast<char>('0' + random() % 10);
          }
          for (; i < end; ++i) {
            if (!noted) continue;
            to[i] = static_cast<std::int32_t>(wide.size());
            wide += text[i];
          }
        }
        to[text.size()] = static_cast<std::int32_t>(wide.size());
        CAPTURE(wide);
        Places found;
        const auto again = fast->search(wide, 0, found);
        if (again == Backtracker::Outcome::gave_up) continue;
        REQUIRE(outcome == again);
        if (outcome != Backtracker::Outcome::match) continue;
        for (std::size_t i = 0; i < places.size(); ++i) {
          CHECK(found[i] == (places[i] < 0 ? -1 : to[static_cast<std::size_t>(places[i])]));
        }
      }
    }
  }
  CHECK(free > 2000);
  CHECK(fixed > 2000);
}

TEST_CASE("Backtracker: what it does not know it refuses") {
  for (const char* pattern : {"(?m)^a", "\\pL", "(?U)a+", "\\Qa\\E", "(a*)*", "(?:a?){3}",
                              "[[:digit:]]", "a{1001}", "\xC3\xA9"}) {
    CAPTURE(std::string(pattern));
    CHECK(Backtracker::compile(pattern, false, 2) == nullptr);
  }
}

TEST_CASE("Backtracker: a hostile text makes it give up soon") {
  const auto fast = Backtracker::compile("(?:a+)+(?:a+)+(?:a+)+b", false, 1);
  if (!fast) return;
  Places places;
  const std::string text(16u << 10, 'a');
  const SystemClock clock;
  const auto begin = clock.now();
  CHECK(fast->search(text, 0, places) == Backtracker::Outcome::gave_up);
  CHECK(clock.now() - begin < std::chrono::milliseconds(500));
}

TEST_CASE("Backtracker: letters of either case, classes, and the boundaries of words") {
  const auto fast = Backtracker::compile("(?i:Step) +(\\d+)\\b", false, 2);
  REQUIRE(fast != nullptr);
  Places places;
  CHECK(fast->search("x STEP  12 ", 0, places) == Backtracker::Outcome::match);
  CHECK(places == Places{2, 10, 8, 10});
  CHECK(fast->search("step 12a", 0, places) == Backtracker::Outcome::no_match);
}

}  // namespace logarithm
