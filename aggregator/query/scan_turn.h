#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace logarithm::aggregator {

// Lines wanted from one turn.
struct ScanTurn {
  std::size_t max_rows = SIZE_MAX;
  std::size_t max_bytes = SIZE_MAX;  // stops after the row that passes it
  std::function<bool()> time_is_up;  // asked between blocks; empty: never
};

enum class ScanState : std::uint8_t {
  more,  // the turn is full or its time is up; call again
  finished
};

struct ScanStats {
  std::uint64_t blocks = 0, pruned = 0, decoded = 0;
  std::uint64_t lines = 0;  // decoded in full, again counted again
};

}  // namespace logarithm::aggregator
