#include "aggregator/compare/history.h"

#include <algorithm>

namespace logarithm::aggregator {
namespace {

std::uint64_t hash_of(const Bag& bag) {
  std::uint64_t hash = bag.size();
  for (const auto& [group, count] : bag) {
    hash ^= (std::uint64_t{group} << 32) | count;
    hash *= 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

BagBook::BagBook() { intern({}); }

std::uint32_t BagBook::intern(Bag bag) {
  const std::uint64_t hash = hash_of(bag);
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto at = from; at != to; ++at) {
    if (bags_[at->second] == bag) return at->second;
  }
  const auto id = static_cast<std::uint32_t>(bags_.size());
  bags_.push_back(std::move(bag));
  by_hash_.emplace(hash, id);
  return id;
}

Bag sum_of(const Bag& a, const Bag& b) {
  Bag out;
  out.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->first < y->first)) {
      out.push_back(*x++);
    } else if (x == a.end() || y->first < x->first) {
      out.push_back(*y++);
    } else {
      out.emplace_back(x->first, x->second + y->second);
      ++x, ++y;
    }
  }
  return out;
}

std::uint32_t count_of(const Bag& bag, std::uint32_t group) {
  const auto at = std::lower_bound(bag.begin(), bag.end(), std::pair(group, std::uint32_t{0}));
  return at != bag.end() && at->first == group ? at->second : 0;
}

}  // namespace logarithm::aggregator
