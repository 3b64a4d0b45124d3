#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/block_limits.h"
#include "common/block/columns.h"
#include "common/block/row_set.h"

// Section FIELDS: typed metadata and event marks. README, "FIELDS".
namespace logarithm::block {

// Gives the section and sets header.fields and header.events.
std::string encode_fields(const std::vector<Line>& lines, Budget& dictionary, BlockHeader& header);

// Sets meta and events of `lines`, which has an element for each of `rows`; with `keys` only the
// pairs of these keys, and the columns of others are not looked at.
Status decode_fields(const ColumnMap& columns, const BlockHeader& header, const RowSet& rows,
                     const std::vector<std::string>* keys, ItemBudget& budget,
                     std::vector<Line>& lines);

// The rows that have a value of `key` that `wanted` accepts; values are numbers or texts.
Result<RowSet> rows_with_value(const ColumnMap& columns, const BlockHeader& header,
                               const std::string& key,
                               const std::function<bool(const MetaValue&)>& wanted);

// The rows that carry an event, ascending.
Result<std::vector<std::uint32_t>> event_rows(const ColumnMap& columns, const BlockHeader& header);

}  // namespace logarithm::block
