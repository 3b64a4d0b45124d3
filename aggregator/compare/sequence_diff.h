#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace logarithm::aggregator {

// Elements of `a` and `b` that stand for each other.
struct Aligned {
  std::size_t a = 0, b = 0;
  bool operator==(const Aligned&) const = default;
};

// Aligns two sequences: equal elements in ascending order, about as many as can be. Exact (Myers)
// where they differ little; where they differ much, anchored at the n-th occurrences that keep
// their order. O(n log n) but for a bounded search; the same sequences give the same alignment.
std::vector<Aligned> align(const std::vector<std::uint64_t>& a,
                           const std::vector<std::uint64_t>& b);

}  // namespace logarithm::aggregator
