#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/query/predicate.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

enum class TokenKind : std::uint8_t {
  end,
  open_brace,
  close_brace,
  open_paren,
  close_paren,
  comma,
  pipe,
  assign,         // =
  equal,          // ==
  not_equal,      // !=
  match,          // =~
  not_match,      // !~
  less,           // <
  less_equal,     // <=
  greater,        // >
  greater_equal,  // >=
  line_contains,  // |=
  line_match,     // |~
  string,         // "…" with Go's escapes, `…` raw
  number,         // also NaN, Inf, with a sign
  identifier,     // letters, digits, '_', '.', not beginning with a digit
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t position = 0;  // byte offset in the query
  std::string text;          // identifier's name, string's value, number as written
  Number number = std::int64_t{0};
};

inline constexpr std::size_t kMaxQueryBytes = 64u << 10;
inline constexpr std::size_t kMaxQueryTokens = 8192;

// Query text -> tokens, the last of kind `end`. On failure `position` is the byte where it went
// wrong. `#` starts a comment. Never reads past the text; linear.
Result<std::vector<Token>> lex_logql(std::string_view query, std::size_t& position);

}  // namespace logarithm::aggregator
