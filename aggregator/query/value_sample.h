#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace logarithm::aggregator {

// Distinct values with their counts, in bounded memory. Over the cap those with the smallest hashes
// are kept (a uniform sample of the distinct values, each with its exact count), so what is kept
// depends on the values alone and not on their order.
class ValueSample {
 public:
  static constexpr std::size_t kShownBytes = 256;  // of a value; longer ones are cut for showing

  struct Value {
    std::string text;  // at most kShownBytes
    bool cut = false;
    std::uint64_t count = 0;
  };

  // Forgets what is beyond `cap`, which may only shrink from call to call.
  void add(std::string_view text, std::size_t cap, std::uint64_t count = 1);
  void shrink(std::size_t cap);

  std::size_t kept() const { return values_.size(); }
  // True while every value is kept: the number and all counts are exact.
  bool exact() const { return limit_ == UINT64_MAX; }
  // The number of distinct values; estimated from the density of the sample unless exact().
  std::uint64_t distinct() const;
  // The most frequent ones; by text where counts are equal. Only when exact(): else the most
  // frequent one may not be in the sample.
  std::vector<Value> top(std::size_t most) const;

 private:
  std::unordered_map<std::uint64_t, Value> values_;
  std::uint64_t limit_ = UINT64_MAX;  // hashes up to it are kept
};

}  // namespace logarithm::aggregator
