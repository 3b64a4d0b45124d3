#pragma once

#include <cstddef>
#include <string_view>

#include "aggregator/query/predicate.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

inline constexpr std::size_t kMaxQueryDepth = 64;

// A LogQL log query -> predicate. The selector may be missing (the job is given elsewhere) and so
// may everything: an empty query is every line. Parser stages and metric queries are refused by
// name. On Error{invalid} `position` is the byte offset in `query` where it went wrong.
//
//   {rank="2", severity=~"error|fatal"} |= "grad" != "skip" |~ "nan|inf" | iteration >= 60 and
//   (loss == NaN or host != "n1")
//
// Regular expressions in selectors and label filters match whole values, those of line filters
// anywhere in the text.
Result<Predicate> parse_logql(std::string_view query, std::size_t& position);

}  // namespace logarithm::aggregator
