#pragma once

#include <string_view>

#include "common/line/line.h"
#include "common/line/log_header.h"

namespace logarithm {

// Gives a line the severity and the call site of its header; its body begins behind that.
void take_header(Line& line, const LogHeader& header);

// What else the header says becomes metadata, but for keys that are there: what a rule found under
// the same name says more.
void add_header_fields(Line& line, const LogHeader& header);

bool has_meta(const Line& line, std::string_view key);

}  // namespace logarithm
