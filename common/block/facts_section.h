#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/block_limits.h"
#include "common/block/columns.h"
#include "common/block/row_set.h"

// Section FACTS: everything of a line but its texts and metadata. README, "FACTS".
namespace logarithm::block {

// `header` must hold first, callsites and body_templates of these lines.
std::string encode_facts(const std::vector<Line>& lines, const BlockHeader& header);

// Sets the facts of `lines`, which has an element for each of `rows`.
Status decode_facts(const ColumnMap& columns, const BlockHeader& header, const RowSet& rows,
                    ItemBudget& budget, std::vector<Line>& lines);

// The two columns of FACTS that texts need.
IntCursor time_column(const ColumnMap& facts);
IntCursor template_column(const ColumnMap& facts);

}  // namespace logarithm::block
