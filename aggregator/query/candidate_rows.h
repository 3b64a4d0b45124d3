#pragma once

#include <optional>

#include "aggregator/query/predicate.h"
#include "common/base/result.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {

// Rows of a block that hold all lines that fulfil the predicate, as far as single columns tell
// (numbers of metadata, literals of the text): of the others nothing needs to be made. nullopt: any
// row may.
Result<std::optional<RowSet>> candidate_rows(const BlockReader& reader, const Predicate& predicate,
                                             const TemplateLookup& lookup);

}  // namespace logarithm::aggregator
