#pragma once

#include <set>
#include <string_view>

#include "aggregator/store/sqlite.h"
#include "common/base/types.h"

namespace logarithm::aggregator {

// Body templates whose text contains `literal` as bytes, or with the ASCII letters' case ignored.
// Never misses one: the trigram index only narrows the choice, and every candidate is verified.
// Literals without three printable ASCII characters in a row scan the table.
Result<std::set<TemplateId>> search_templates(BlockingToken&, Database& reader,
                                              std::string_view literal, bool fold_case);

// True when `text` contains `literal`, ASCII case ignored.
bool contains_folded(std::string_view text, std::string_view literal);

}  // namespace logarithm::aggregator
