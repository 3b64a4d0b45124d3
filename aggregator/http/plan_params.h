#pragma once

#include <optional>
#include <string_view>

#include "aggregator/query/block_rows.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// The cursor of a request into its plan, if it has one and it belongs to this query; else the 400.
std::optional<net::Response> read_cursor(const net::Request& request, std::uint64_t query_hash,
                                         ScanPlan& plan);
// `direction` of a request.
std::optional<net::Response> read_direction(const net::Request& request, Direction fallback,
                                            ScanPlan& plan);

}  // namespace logarithm::aggregator
