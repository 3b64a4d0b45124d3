#pragma once

#include <optional>
#include <string_view>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/block_limits.h"
#include "common/block/block_reader.h"
#include "common/block/columns.h"
#include "common/block/row_set.h"

namespace logarithm::block {

// The rows whose text may contain `literal` (bytes, case-sensitive), without making lines: none
// that contains it is missing. First by what lines are made of: of the literal, the longest run of
// bytes that no variable of a template holds must lie in what the template itself says, so only the
// bytes of the variables are looked at. Then the texts of the rows that are left are searched.
// nullopt: nothing is known, any row may.
Result<std::optional<TextRows>> rows_with_text(const ColumnMap& text, const ColumnMap& facts,
                                               const BlockHeader& header,
                                               const TemplateLookup& lookup,
                                               std::string_view literal);

}  // namespace logarithm::block
