#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/parser_state.h"

namespace logarithm {

// Records whose own shape says where they end; README.md, "Records", lists them.

// What a line that has no header begins.
struct ShapeStart {
  OpenRecord::Kind kind = OpenRecord::Kind::none;
  std::uint8_t phase = 0;
  Severity severity = Severity::unset;  // at least
};
std::optional<ShapeStart> begins_shape(std::string_view body);

enum class Fit : std::uint8_t {
  no,        // not of the record: it ended before
  yes,       // one more line
  silent,    // one more line that inherits nothing: a blank one
  restart,   // yes, and the text for rules begins anew with it
  tail,      // yes, and the text for rules begins anew with the line before it
  complete,  // yes, and it may be the last: more of the record may follow
  last,      // yes, and nothing follows
};
// Whether `body` goes on with the record, of a kind made by begins_shape(); `phase` moves on.
Fit fit_shape(OpenRecord::Kind kind, std::uint8_t& phase, std::string_view body);

// True where each line that goes on with the record looks like a part of it; false where anything
// does, up to a closing row.
bool shape_shows(OpenRecord::Kind kind, std::uint8_t phase);

// The line without the margin of an exception group (`  | `, `  + `).
std::string_view without_margin(std::string_view body);
bool is_indented(std::string_view body);

}  // namespace logarithm
