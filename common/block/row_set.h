#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/types.h"

namespace logarithm {

// Where a row stands: what orders and pairs lines.
struct RowMark {
  std::uint64_t offset = 0;
  UnixNanos time = 0;
  std::optional<std::int64_t> iteration;
  std::optional<std::int32_t> wrapper_rank;
  bool operator==(const RowMark&) const = default;
};

// Rows [first, end) of a block's lines.
struct RowRange {
  std::uint32_t first = 0, end = 0;
};

// Some rows of a block, as ranges that ascend and do not touch each other.
class RowSet {
 public:
  RowSet() = default;
  static RowSet all(std::uint32_t rows) {
    RowSet out;
    out.add(0, rows);
    return out;
  }

  // Ranges are added in the order of their first rows; what they have in common counts once.
  void add(std::uint32_t first, std::uint32_t end) {
    if (first >= end) return;
    if (!ranges_.empty() && first <= ranges_.back().end) {
      if (end <= ranges_.back().end) return;
      count_ += end - ranges_.back().end;
      ranges_.back().end = end;
      return;
    }
    ranges_.push_back({first, end});
    count_ += end - first;
  }

  const std::vector<RowRange>& ranges() const { return ranges_; }
  std::uint32_t count() const { return count_; }
  std::uint32_t end() const { return ranges_.empty() ? 0 : ranges_.back().end; }

 private:
  std::vector<RowRange> ranges_;
  std::uint32_t count_ = 0;
};

}  // namespace logarithm
