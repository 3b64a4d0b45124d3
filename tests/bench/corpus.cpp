#include "tests/bench/corpus.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace logarithm::bench {

std::vector<std::string> mixed_lines(std::size_t count, unsigned seed) {
  std::vector<std::string> shapes;
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  std::string text;
  while (std::getline(file, text)) {
    const auto shape = nlohmann::json::parse(text);
    if (shape["group"] == "path") continue;
    for (const std::string lines : shape["lines"]) {
      std::istringstream in(lines);
      for (std::string line; std::getline(in, line, '\n');) {
        if (!line.empty()) shapes.push_back(line);
      }
    }
  }
  std::mt19937 random(seed);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = shapes[random() % shapes.size()];
    // The first digit of a number stays: a month or an hour must stay one.
    for (std::size_t k = 1; k < line.size(); ++k) {
      const auto digit = [](char c) { return c >= '0' && c <= '9'; };
      if (digit(line[k]) && digit(line[k - 1]) && random() % 2 == 0) {
        line[k] = static_cast<char>('0' + random() % 3);
      }
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> widened_lines(std::size_t count, unsigned seed) {
  constexpr std::size_t kHeader = 40;  // times and places stay what they are
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::mt19937 random(seed);
  auto lines = mixed_lines(count, seed);
  for (std::string& line : lines) {
    for (std::size_t k = kHeader; k < line.size(); ++k) {
      if (!digit(line[k]) || digit(line[k - 1]) || random() % 4 != 0) continue;
      if (random() % 2 == 0 && k + 1 < line.size() && digit(line[k + 1])) {
        line.erase(k + 1, 1);
      } else {
        line.insert(k + 1, 1, static_cast<char>('0' + random() % 10));
      }
    }
  }
  return lines;
}

std::vector<std::pair<std::string, std::string>> hostile_lines() {
  constexpr std::size_t kSize = 1u << 20;
  const auto repeated = [](std::string_view piece) {
    std::string out;
    while (out.size() < kSize) out += piece;
    out.resize(kSize);
    return out;
  };
  return {{"one letter", repeated("a")},
          {"digits", repeated("7")},
          {"pairs", repeated("loss=1 ")},
          {"step pairs", "step=1 " + repeated("loss=1.5, ")},
          {"iterations", repeated("iteration 1 | ")},
          {"quotes", repeated("'\"")},
          {"quoted keys", repeated("{'loss': 1, ")},
          {"words", repeated("error step loss ")},
          {"paths", repeated("/a/b ")},
          {"tokens", repeated("hf_ sk- ")},
          {"brackets", repeated("[")},
          {"bars", repeated("1%|")}};
}

}  // namespace logarithm::bench
