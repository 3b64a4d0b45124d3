#include "common/rules/literal_scanner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace logarithm {

TEST_CASE("Literal scanner: finds exactly what a plain search finds") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto word = [&](unsigned most) {
    std::string out;
    const auto size = 1 + random() % most;
    for (unsigned i = 0; i < size; ++i) out.push_back(static_cast<char>('a' + random() % 3));
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    LiteralScanner scanner;
    std::vector<std::string> literals;
    for (unsigned i = 0; i < 8; ++i) literals.push_back(word(4));
    for (std::uint32_t i = 0; i < literals.size(); ++i) scanner.add(literals[i], i);
    scanner.build();
    for (int k = 0; k < 20; ++k) {
      const std::string text = word(30) + "z" + word(5);
      std::vector<std::uint8_t> found(literals.size(), 0);
      std::vector<std::uint16_t> hits;
      scanner.scan(text, found, hits);
      CHECK(static_cast<std::size_t>(std::count(found.begin(), found.end(), 1)) == hits.size());
      for (std::size_t i = 0; i < literals.size(); ++i) {
        CHECK((found[i] != 0) == (text.find(literals[i]) != std::string::npos));
      }
    }
  }
}

TEST_CASE("Literal scanner: without literals nothing is found, all byte values can be literals") {
  LiteralScanner none;
  none.build();
  std::vector<std::uint8_t> found(256, 0);
  std::vector<std::uint16_t> hits;
  none.scan("abc", found, hits);
  CHECK(hits.empty());

  LiteralScanner all;
  for (std::uint32_t c = 0; c < 256; ++c) all.add(std::string(1, static_cast<char>(c)), c);
  all.build();
  all.scan("a\xFF", found, hits);
  CHECK(hits == std::vector<std::uint16_t>{'A', 'a', 255});
  CHECK(found['a'] == 1);
  CHECK(found[255] == 1);
}

TEST_CASE("Literal scanner: the case of ASCII letters does not matter") {
  LiteralScanner scanner;
  scanner.add("Step [", 0);
  scanner.add("\xC4", 1);
  scanner.build();
  std::vector<std::uint8_t> found(2, 0);
  std::vector<std::uint16_t> hits;
  scanner.scan("xSTEP [\xE4", found, hits);
  CHECK(hits == std::vector<std::uint16_t>{0});
}

TEST_CASE("Literal scanner: with few literals it finds what is there, wherever it stands") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> literals{"hf_", "ghp_", "sk-", "xox", "aws_secret", "q:z"};
  LiteralScanner scanner;
  for (std::uint32_t i = 0; i < literals.size(); ++i) scanner.add(literals[i], i);
  scanner.build();
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto i = random() % 60; i > 0; --i) text.push_back("hfgpskxoq_-:z aHX"[random() % 17]);
    if (random() % 2 == 0) {
      text.insert(random() % (text.size() + 1), literals[random() % literals.size()]);
    }
    CAPTURE(text);
    std::string lower = text;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    std::vector<std::uint8_t> found(literals.size());
    std::vector<std::uint16_t> hits;
    scanner.scan(text, found, hits);
    for (std::size_t i = 0; i < literals.size(); ++i) {
      REQUIRE((found[i] != 0) == (lower.find(literals[i]) != std::string::npos));
    }
  }
}

}  // namespace logarithm
