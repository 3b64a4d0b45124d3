#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/base/types.h"

namespace logarithm::aggregator {

// "2026-11-30T12:34:56.123456789Z": UTC with 9 digits.
std::string to_rfc3339(UnixNanos time);

// What `start` and `end` accept: RFC 3339 (any number of fraction digits, an offset or Z), integer
// nanoseconds since the epoch, or a time before `now` ("-15m"; units ns, us, ms, s, m, h, d, w).
// Error{invalid} says what is wrong; out-of-range times are errors, too.
Result<UnixNanos> parse_time(std::string_view text, UnixNanos now);

}  // namespace logarithm::aggregator
