#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/block/token_filter.h"
#include "common/line/template.h"

// Collects what goes into a block's token filter; see token_filter.h for the rule.
namespace logarithm::block {

// Distinct hashes in no particular order.
class HashSet {
 public:
  void insert(std::uint64_t hash);
  const std::vector<std::uint64_t>& values() const { return values_; }

 private:
  void grow();

  std::vector<std::uint64_t> table_;  // 0 is free; open addressing
  std::vector<std::uint64_t> values_;
  bool has_zero_ = false;
};

class TokenCollector {
 public:
  // Every token of `text`.
  void add_all(std::string_view text) {
    for_each_token(text, [this](std::string_view token) { hashes_.insert(token_hash(token)); });
  }

  // The tokens of `text` from `begin` on that a break cuts or overlaps. Breaks are ascending:
  // variables, plain pieces, and empty ones where two templates meet.
  void add_broken(std::string_view text, std::size_t begin, const std::vector<Span>& breaks);

  std::string filter() const { return make_token_filter(hashes_.values()); }

 private:
  HashSet hashes_;
};

}  // namespace logarithm::block
