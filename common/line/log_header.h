#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm {

// What a logger printed in front of its message. Views into the text that was parsed.
struct LogHeader {
  std::size_t size = 0;  // bytes of the header, the blank before the message included
  std::optional<PrintedTime> time;
  Severity severity = Severity::unset;
  std::string_view level;      // as printed: "INFO", "W"
  std::string_view file;       // call site; empty when none was printed
  std::string_view file_line;  // its digits
};

// Recognises the header at the start of `text`; see README.md for the shapes. nullopt: no header.
std::optional<LogHeader> parse_header(std::string_view text);

// For text that starts with `[rankN]:` (PyTorch's prefix): N and the length of the prefix, one
// blank behind it included.
struct RankPrefix {
  std::int32_t rank = 0;
  std::size_t size = 0;
};
std::optional<RankPrefix> parse_rank_prefix(std::string_view text);

}  // namespace logarithm
