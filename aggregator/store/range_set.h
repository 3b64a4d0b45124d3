#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/types.h"

namespace logarithm::aggregator {

// Adds [range) to merged, ascending ranges; touching ranges become one.
void add_range(std::vector<Range>& ranges, Range range);

// The stored range that holds `offset`.
std::optional<Range> range_holding(const std::vector<Range>& ranges, std::uint64_t offset);

// What to do with a block that covers `block`, given what is stored of its stream.
struct Admission {
  enum class Kind {
    store,    // nothing of it is stored
    known,    // all of it is stored: a replay
    overlap,  // its beginning is stored: refuse, `resume_at` is the end of that
    cut,      // [block.first, cut_at) is new, then something stored begins
  };
  Kind kind = Kind::store;
  std::uint64_t resume_at = 0;  // overlap, cut
  std::uint64_t cut_at = 0;     // cut
};
Admission admit(const std::vector<Range>& stored, Range block);

}  // namespace logarithm::aggregator
