#pragma once

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/base/result.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {

// Rows of a block that hold all lines that fulfil a predicate; `exact`: each of them does.
struct CandidateRows {
  RowSet rows;
  bool exact = false;
};

// As far as the header and single columns tell (numbers of metadata, literals of the text): of
// other lines nothing needs to be made. `join` is the block's.
Result<CandidateRows> candidate_rows(const BlockReader& reader, const Predicate& predicate,
                                     const StreamJoin& join, const TemplateLookup& lookup);

}  // namespace logarithm::aggregator
