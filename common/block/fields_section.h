#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/block_limits.h"
#include "common/block/columns.h"

// Section FIELDS: typed metadata and event marks. README, "FIELDS".
namespace logarithm::block {

// Gives the section and sets header.fields and header.events.
std::string encode_fields(const std::vector<Line>& lines, Budget& dictionary, BlockHeader& header);

// Sets meta and events of `lines`, which has header.lines elements; with `keys` only the pairs of
// these keys, and the columns of others are not looked at.
Status decode_fields(const ColumnMap& columns, const BlockHeader& header,
                     const std::vector<std::string>* keys, ItemBudget& budget,
                     std::vector<Line>& lines);

}  // namespace logarithm::block
