#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator/query/job_view.h"
#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/line/line.h"

namespace logarithm::aggregator::triage {

// How many of a block's newest lines are looked at. The others are left alone unless the header
// says that something is marked there, and then what lies around the marks is looked at.
using Depth = std::uint32_t;
inline constexpr Depth kWholeBlock = UINT32_MAX;
inline constexpr Depth kMarksOnly = 0;

// What is looked at of one block.
struct LookedAt {
  bool whole = false;
  std::vector<Line> lines;  // facts and fields, ascending by offset
  std::size_t recent = 0;   // index of the first of the newest; those before lie around marks
  BlockHeader header;       // where not all of the block is looked at
};

// Reads what `depth` asks for; all, where the header says that less could not be understood: ranks
// that share a file, tables of other processes, NaN. Error{corrupt} for damage.
Result<LookedAt> look_at(BlockingToken& token, JobView& view, const BlockRef& block, Depth depth);

}  // namespace logarithm::aggregator::triage
