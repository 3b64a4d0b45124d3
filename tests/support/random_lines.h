#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/line/line.h"

namespace logarithm::test {

// Lines of one stream as a parser could make them, and worse: logger lines that repeat, random
// bytes, every flag, every terminator, joined pieces, NaN, infinities and int64 extremes.
class RandomLines {
 public:
  explicit RandomLines(std::uint64_t seed) : random_(seed) {}

  std::vector<Line> make(std::size_t count);
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::mt19937_64& engine() { return random_; }
  // Any bytes, 0 to 255.
  std::string bytes(std::size_t size);

 private:
  Line logger_line();
  Line any_line();
  void decorate(Line& line);
  MetaPair pair();
  std::int64_t number();

  std::mt19937_64 random_;
  std::uint64_t offset_ = 0;
  std::uint64_t head_ = 0;
  UnixNanos clock_ = 1'796'000'000'000'000'000;
};

// Empty when both are the same in every member (doubles bit by bit), else which member differs.
std::string difference(const Line& a, const Line& b);

}  // namespace logarithm::test
