#pragma once

#include <string_view>

#include "common/line/header_lexer.h"
#include "common/line/log_header.h"

// parse_header() in its steps, which HeaderReader shares.
namespace logarithm::header {

// False for a line whose first word shows that it has no header: most lines of prose.
bool may_have_header(std::string_view text);
// Fills `header`, which is to be empty, and `trace` where the lexer read it. False: no header, and
// `header` is spoiled.
bool read_header(std::string_view text, LogHeader& header, HeaderLexer::Trace& trace);
// `[Rank 3] text` behind a header: a mention that stays in the message, where rules look for it.
void mention_rank(std::string_view text, LogHeader& header);

}  // namespace logarithm::header
