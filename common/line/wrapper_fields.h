#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/line/file_line.h"
#include "common/line/line.h"
#include "common/line/unwrap.h"

namespace logarithm {

// What wrappers say beside time, rank and output becomes metadata of the line.
void add_wrapper_fields(Line& line, const Wrapped& wrapped);

// What journald's JSON says: metadata of the line, time and severity of `wrapped`. Nothing, where
// the line is none.
void take_journal(Line& line, Wrapped& wrapped);

// Where nobody else says who writes, the text behind the wrappers may: rank and lane.
void take_bare_rank(std::string_view text, Wrapped& wrapped);

// Tells apart who writes: outputs of a container are writers of their own.
std::optional<std::int32_t> lane_of(const Wrapped& wrapped, const LineOrigin& origin);

}  // namespace logarithm
