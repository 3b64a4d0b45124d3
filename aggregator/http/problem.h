#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// An `application/problem+json` answer (RFC 9457). `position` is a byte offset in `parameter`.
net::Response problem(int status, std::string_view detail, std::optional<std::size_t> position = {},
                      std::string_view parameter = {});
// The same for a failure of ours: not_found 404, invalid 400, too_large 413, timeout 504,
// unavailable 503 with Retry-After, the rest 500.
net::Response problem_of(const Error& error);
// 503: every place for a running query is taken.
net::Response too_many_queries();
// The body alone, for a stream that fails after it began.
std::string problem_text(int status, std::string_view detail, std::optional<std::size_t> position,
                         std::string_view parameter);
int status_of(ErrorCode code);

}  // namespace logarithm::aggregator
