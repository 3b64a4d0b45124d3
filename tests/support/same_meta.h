#pragma once

#include <bit>
#include <cstdint>
#include <variant>

#include "common/line/line.h"

namespace logarithm::test {

// Equal to the bit: a NaN is the same as itself, 0.0 is not -0.0.
inline bool same_meta(const MetaPair& a, const MetaPair& b) {
  if (a.key != b.key || a.point != b.point || a.value.index() != b.value.index()) return false;
  if (!std::holds_alternative<double>(a.value)) return a.value == b.value;
  return std::bit_cast<std::uint64_t>(std::get<double>(a.value)) ==
         std::bit_cast<std::uint64_t>(std::get<double>(b.value));
}

}  // namespace logarithm::test
