#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/line/header_lexer.h"
#include "common/line/log_header.h"

namespace logarithm {

// parse_header() for the lines of one stream, which print nearly always what the lines before them
// did: headers are kept as patterns, and a line that differs from one in digits alone is read by
// it, at a third of the cost; so are texts without a header. The result is parse_header()'s,
// whatever was read before: nothing of this needs to outlive a restart.
class HeaderReader {
 public:
  std::optional<LogHeader> read(std::string_view text);

 private:
  static constexpr std::size_t kMaxPattern = 128;
  static constexpr std::size_t kMaxHeaderless = 256;  // of a text that is known to have none
  static constexpr std::size_t kPatterns = 64;

  struct Span {
    std::uint8_t begin = 0, size = 0;
  };
  struct Field {
    std::string_view key;
    Span value;
    LogHeader::Kind kind = LogHeader::Kind::text;
  };
  struct Pattern {
    std::array<char, kMaxPattern> text;  // as fold_digits() writes it
    std::uint8_t size = 0;               // bytes that have to be alike
    std::uint8_t header_size = 0;
    bool decided = false;  // the message was not looked at
    header::HeaderLexer::TimeForm form = header::HeaderLexer::TimeForm::none;
    Span time, level, file, file_line;
    Severity severity = Severity::unset;
    std::array<Field, LogHeader::kMaxFields> fields;
    std::uint8_t field_count = 0;

    std::string_view alike() const { return {text.data(), size}; }
  };

  bool replay(const Pattern& pattern, std::string_view text, LogHeader& header) const;
  void learn(std::string_view text, std::string_view alike, const LogHeader& header,
             const header::HeaderLexer::Trace& trace);
  void keep(const Pattern& pattern);

  const Pattern* find(std::string_view alike) const;

  // By the bytes that have to be alike; found by halves.
  std::vector<std::unique_ptr<Pattern>> patterns_;
  std::size_t next_out_ = 0;  // which one makes room for a new one
};

}  // namespace logarithm
