#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace logarithm::cli {

// How a line is shown as text.
struct LineStyle {
  bool colour =
      false;         // also: control bytes are shown as \xNN, so that a log cannot steer a terminal
  bool ids = false;  // with the id in front, for `context`
  std::string mark;  // id of the line to point at
};

// "2026-11-30T04:33:29.123Z a1 r2 stderr ERROR text", without what is unknown; no line end.
std::string line_text(const nlohmann::json& line, const LineStyle& style);

// `text` with control bytes (but tabs) as \xNN.
std::string visible(std::string_view text);

}  // namespace logarithm::cli
