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

// The marks of `rows`, without lines.
Result<std::vector<RowMark>> decode_row_marks(const ColumnMap& columns, const BlockHeader& header,
                                              const RowSet& rows);
// The rows of lines with these offsets (ascending); offsets that no line has are passed over.
Result<RowSet> rows_at(const ColumnMap& columns, const BlockHeader& header,
                       const std::vector<std::uint64_t>& offsets);

// The two columns of FACTS that texts need.
IntCursor time_column(const ColumnMap& facts);
IntCursor template_column(const ColumnMap& facts);
// True when some line's text must be decoded from its transport.
bool has_transports(const ColumnMap& facts);

}  // namespace logarithm::block
