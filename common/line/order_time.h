#pragma once

#include <optional>

#include "common/line/line.h"
#include "common/line/log_time.h"
#include "common/line/parser_state.h"
#include "common/line/stream_parser.h"

namespace logarithm {

// Sets line.time (order time) and the flags derived_time and time_suspect from what the line
// prints, else from the line before, else from line.observed. Updates what `state` knows of time.
void set_order_time(Line& line, const std::optional<PrintedTime>& printed,
                    const StreamContext& context, ParserState& state);

}  // namespace logarithm
