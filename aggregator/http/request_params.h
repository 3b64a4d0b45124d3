#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "common/base/result.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// nullopt when every parameter of the request is one of `known`; else the 400 that names the
// stranger and the name that was probably meant.
std::optional<net::Response> refuse_unknown(const net::Request& request,
                                            const std::vector<std::string_view>& known);

// The filters of a request into a plan; nullopt when they are good, else the 400 that says what is
// wrong and where.
std::optional<net::Response> read_filters(const net::Request& request, UnixNanos now,
                                          ScanPlan& plan);

// A whole number in [min, max], `fallback` when absent. Error{invalid} names the parameter.
Result<std::uint64_t> number_param(const net::Request& request, std::string_view name,
                                   std::uint64_t fallback, std::uint64_t min, std::uint64_t max);
Result<bool> bool_param(const net::Request& request, std::string_view name, bool fallback);

}  // namespace logarithm::aggregator
