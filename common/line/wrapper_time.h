#pragma once

#include <optional>

#include "common/base/types.h"
#include "common/line/log_time.h"

namespace logarithm {

// The time of a line whose logger printed `inner` and whose wrapper printed `outer`: the logger's,
// with the year and zone that the wrapper's makes known; else the wrapper's.
std::optional<PrintedTime> merge_times(const std::optional<PrintedTime>& inner,
                                       const std::optional<PrintedTime>& outer, UnixNanos observed);

// A point in time as if printed, in UTC.
PrintedTime printed_utc(UnixNanos time);

}  // namespace logarithm
