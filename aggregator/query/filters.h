#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/query/predicate.h"
#include "common/base/result.h"
#include "common/base/types.h"

namespace logarithm::aggregator {

using Params = std::vector<std::pair<std::string, std::string>>;

// What a request asks for: lines of [start, end) that fulfil the predicate.
struct QuerySpec {
  Predicate predicate;
  std::optional<UnixNanos> start, end;
};

// Where a bad parameter is wrong.
struct ParamProblem {
  std::string parameter;
  std::optional<std::size_t> position;  // byte in its value
};

// The filter parameters of contract.md: query, start, end, attempt, rank, iteration, severity,
// grep, not_grep, callsite, not_callsite, stream, host. A repeated one widens (any of them), a
// repeated not_… one narrows. Parameters of other names are not looked at.
Result<QuerySpec> parse_filters(const Params& params, UnixNanos now, ParamProblem& problem);
bool is_filter_parameter(std::string_view name);
const std::vector<std::string_view>& filter_parameters();

// "0-7,16" or "1200..1300", "60..", "..5", "5", also mixed: closed intervals.
Result<std::vector<Interval>> parse_intervals(std::string_view text, std::size_t& position);

}  // namespace logarithm::aggregator
