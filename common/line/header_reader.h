#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/line/header_lexer.h"
#include "common/line/log_header.h"

namespace logarithm {

// parse_header() for the lines of one stream, which print nearly always what the lines before them
// did: the newest headers are kept as patterns, and a line that differs from one in digits alone is
// read by it, at a third of the cost. The result is parse_header()'s, whatever was read before:
// nothing of this needs to outlive a restart.
class HeaderReader {
 public:
  std::optional<LogHeader> read(std::string_view text);

 private:
  static constexpr std::size_t kMaxPattern = 128;
  static constexpr std::size_t kPatterns = 8;

  struct Span {
    std::uint8_t begin = 0, size = 0;
  };
  struct Field {
    std::string_view key;
    Span value;
    LogHeader::Kind kind = LogHeader::Kind::text;
  };
  struct Pattern {
    std::array<char, kMaxPattern> text;  // every digit a '0'
    std::uint8_t size = 0;               // bytes that have to be alike
    std::uint8_t header_size = 0;
    bool decided = false;  // the message was not looked at
    header::HeaderLexer::TimeForm form = header::HeaderLexer::TimeForm::none;
    Span time, level, file, file_line;
    Severity severity = Severity::unset;
    std::array<Field, LogHeader::kMaxFields> fields;
    std::uint8_t field_count = 0;
  };

  bool replay(const Pattern& pattern, std::string_view text, LogHeader& header) const;
  void learn(std::string_view text, const std::array<char, kMaxPattern>& alike,
             const LogHeader& header, const header::HeaderLexer::Trace& trace);

  std::vector<Pattern> patterns_;  // the newest first
};

}  // namespace logarithm
