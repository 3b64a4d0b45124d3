#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/spool/spool.h"

namespace logarithm::agent {

struct Recut {
  std::uint64_t resume_at = 0;       // the aggregator has what lies before
  bool plain = false;                // no part of a line stored by a template
  std::size_t max_bytes = SIZE_MAX;  // of the encoded block
};

// The part of a block from `resume_at` on, encoded again, with as many whole lines as `max_bytes`
// holds: what comes after the result's end is the next one's. A line that alone is over it becomes
// a gap `too_large`. Pure. `block.templates` must be complete. Error{too_large}: not even that
// fits; other Errors: the block cannot be decoded.
Result<SpooledBlock> recut(const SpooledBlock& block, const Recut& how);

}  // namespace logarithm::agent
