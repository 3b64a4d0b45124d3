#pragma once

#include "agent/spool/spool.h"

namespace logarithm::agent {

// The part of a block from `resume_at` on, encoded again: the aggregator has what lies before.
// Pure. `block.templates` must be complete. Error when the block cannot be decoded.
Result<SpooledBlock> recut(const SpooledBlock& block, std::uint64_t resume_at);

}  // namespace logarithm::agent
