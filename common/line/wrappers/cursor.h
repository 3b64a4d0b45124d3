#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace logarithm::wrappers {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

// A place in a text. A step that fails may leave the place anywhere: the caller gives up.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool end() const { return at >= text.size(); }
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool take(char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  bool take(std::string_view what) {
    if (text.compare(at, what.size(), what) != 0) return false;
    at += what.size();
    return true;
  }
  void blanks() {
    while (peek() == ' ') ++at;
  }
  // A decimal of at most `most` digits; more of them is no number.
  std::optional<std::int32_t> number(unsigned most = 8) {
    const std::size_t begin = at;
    std::int32_t value = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (at - begin >= most) return std::nullopt;
      value = value * 10 + (text[at] - '0');
    }
    if (at == begin) return std::nullopt;
    return value;
  }
  // The longest run of bytes that `fits`, at most `most` long.
  template <typename Fits>
  std::string_view run(Fits fits, std::size_t most = 128) {
    const std::size_t begin = at;
    while (at < text.size() && at - begin < most && fits(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
};

}  // namespace logarithm::wrappers
