#pragma once

#include <array>
#include <string>
#include <string_view>

#include "common/line/template.h"

// The mask as it was first written: slow and plain. Masks are a stored format, so what is faster
// must give the same.
namespace logarithm::test::reference {

inline constexpr std::size_t kMaxQuoted = 256;  // a longer "string" is more likely two stray quotes

enum CharClass : unsigned char {
  kDigit = 1,
  kHexLower = 2,
  kHexUpper = 4,
  kAlpha = 8,
  kPathEnd = 16,     // whitespace, quotes, brackets, separators, control bytes
  kBeforePath = 32,  // what may stand in front of an absolute path
  kSpecial = 64,     // a byte at which something may begin
};

constexpr std::array<unsigned char, 256> make_classes() {
  std::array<unsigned char, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    unsigned bits = 0;
    if (c >= '0' && c <= '9') bits |= kDigit | kSpecial;
    if (c >= 'a' && c <= 'f') bits |= kHexLower;
    if (c >= 'A' && c <= 'F') bits |= kHexUpper;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) bits |= kAlpha | kSpecial;
    if (c <= ' ') bits |= kPathEnd;
    if (c <= 2) bits |= kSpecial;
    table[c] = static_cast<unsigned char>(bits);
  }
  for (char c : {'"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '`'}) {
    table[static_cast<unsigned char>(c)] |= kPathEnd;
  }
  for (char c : {' ', '\t', '"', '\'', '(', '[', '{', '<', '>', '=', ',', ':', ';', '|', '`'}) {
    table[static_cast<unsigned char>(c)] |= kBeforePath;
  }
  for (char c : {'"', '\'', '/', '~', '.', '-', '+'}) {
    table[static_cast<unsigned char>(c)] |= kSpecial;
  }
  return table;
}
inline constexpr auto kClasses = make_classes();

inline bool is(char c, unsigned bits) {
  return (kClasses[static_cast<unsigned char>(c)] & bits) != 0;
}
inline bool is_alnum(char c) { return is(c, kDigit | kAlpha); }
inline bool is_word(char c) { return is_alnum(c) || c == '_'; }
inline bool is_hex(char c) { return is(c, kDigit | kHexLower | kHexUpper); }

// One pass over a body. Every decision looks a bounded way ahead, or consumes what it looked at.
class Masker {
 public:
  Masker(std::string_view body, MaskedBody& out) : b_(body), out_(out) {}

  void run() {
    while (at_ < b_.size()) {
      const char c = b_[at_];
      if (!is(c, kSpecial)) {
        ++at_;
      } else if (is_alnum(c)) {
        word();
      } else if (c <= 2 && c >= 0) {
        std::size_t end = at_ + 1;
        while (end < b_.size() && b_[end] >= 0 && b_[end] <= 2) ++end;
        slot(at_, end);
      } else if (c == '"' || c == '\'') {
        quote(c);
      } else if (c == '-' || c == '+') {
        signed_number();
      } else if (path_begins()) {
        text_slot(at_, path_end(at_));
      } else {
        ++at_;
      }
    }
    out_.text.append(b_.substr(kept_));
  }

 private:
  char peek(std::size_t i) const { return i < b_.size() ? b_[i] : '\n'; }
  bool after(unsigned bits) const { return at_ == 0 || is(b_[at_ - 1], bits); }

  void slot(std::size_t begin, std::size_t end) {
    out_.text.append(b_.substr(kept_, begin - kept_));
    out_.text.push_back(kSlot);
    out_.variables.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)});
    at_ = kept_ = end;
  }

  void text_slot(std::size_t begin, std::size_t end) {
    out_.holds_text = true;
    slot(begin, end);
  }

  // Digits, groups after dots (2.31, 10.0.0.7, 1.13.1), an exponent.
  std::size_t number_end(std::size_t i) const {
    while (is(peek(i), kDigit)) ++i;
    while (peek(i) == '.' && is(peek(i + 1), kDigit)) {
      i += 2;
      while (is(peek(i), kDigit)) ++i;
    }
    if (peek(i) != 'e' && peek(i) != 'E') return i;
    std::size_t exponent = i + 1;
    if (peek(exponent) == '-' || peek(exponent) == '+') ++exponent;
    if (!is(peek(exponent), kDigit)) return i;
    while (is(peek(exponent), kDigit)) ++exponent;
    return is_alnum(peek(exponent)) ? i : exponent;
  }

  // End of `nan`, `inf` or `infinity` as a whole word at `i`, or 0.
  std::size_t not_finite_end(std::size_t i) const {
    if (i > 0 && is_word(b_[i - 1])) return 0;
    for (std::string_view name : {"nan", "infinity", "inf"}) {
      std::size_t k = 0;
      while (k < name.size() && (peek(i + k) | 0x20) == name[k]) ++k;
      if (k == name.size() && !is_word(peek(i + k))) return i + k;
    }
    return 0;
  }

  bool uuid(std::size_t i) const {
    static constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (std::size_t k = 0; k < kShape.size(); ++k) {
      const char c = peek(i + k);
      if (kShape[k] == '-' ? c != '-' : !is_hex(c)) return false;
    }
    return !is_alnum(peek(i + kShape.size()));
  }

  // At the first letter or digit of a run of them.
  void word() {
    const std::size_t begin = at_;
    std::size_t end = begin;
    unsigned seen = 0;
    bool hex = true;
    for (; end < b_.size() && is_alnum(b_[end]); ++end) {
      seen |= kClasses[static_cast<unsigned char>(b_[end])];
      hex = hex && is_hex(b_[end]);
    }
    const std::size_t length = end - begin;
    if (length == 8 && hex && peek(end) == '-' && uuid(begin)) return slot(begin, begin + 36);
    if (is(b_[begin], kDigit)) {
      if (length > 2 && b_[begin] == '0' && (b_[begin + 1] | 0x20) == 'x' &&
          all_hex(begin + 2, end)) {
        return slot(begin, end);
      }
      const std::size_t number = number_end(begin);
      if (number >= end) return slot(begin, number);
    } else {
      if (peek(end) == ':' && peek(end + 1) == '/' && peek(end + 2) == '/') {
        return text_slot(begin, path_end(begin));
      }
      const std::size_t value = not_finite_end(begin);
      if (value != 0) return slot(begin, value);
    }
    const bool id = (seen & kDigit) != 0 ? length >= 6 : length >= 8 && (seen & kHexUpper) == 0;
    if (hex && id) return slot(begin, end);
    if ((seen & kDigit) == 0) {
      at_ = end;
      return;
    }
    mixed_word(end);
  }

  bool all_hex(std::size_t i, std::size_t end) const {
    while (i < end && is_hex(b_[i])) ++i;
    return i == end;
  }

  // "host003", "12ms", "v1.2.3": only the numbers are variable.
  void mixed_word(std::size_t end) {
    while (at_ < end) {
      if (is(b_[at_], kDigit)) {
        slot(at_, number_end(at_));
      } else {
        ++at_;
      }
    }
  }

  void signed_number() {
    if (at_ == 0 || !is_alnum(b_[at_ - 1])) {
      // A number only when the word is one: "-7f3ade12" is a dash and an id.
      if (is(peek(at_ + 1), kDigit)) {
        const std::size_t end = number_end(at_ + 1);
        if (!is_alnum(peek(end))) return slot(at_, end);
      } else if (const std::size_t end = not_finite_end(at_ + 1); end != 0) {
        return slot(at_, end);
      }
    }
    ++at_;
  }

  // `/a`, `~/`, `./`, `../`.
  bool path_begins() const {
    const char c = b_[at_];
    if (c == '/') {
      return after(kBeforePath) && (is_word(peek(at_ + 1)) || peek(at_ + 1) == '.');
    }
    if (!after(kBeforePath)) return false;
    if (c == '~') return peek(at_ + 1) == '/';
    return peek(at_ + 1) == '/' || (peek(at_ + 1) == '.' && peek(at_ + 2) == '/');
  }

  std::size_t path_end(std::size_t i) const {
    const std::size_t begin = i;
    while (i < b_.size() && !is(b_[i], kPathEnd)) ++i;
    while (i > begin + 1 && (b_[i - 1] == '.' || b_[i - 1] == ':')) --i;
    return i;
  }

  void quote(char kind) {
    const std::size_t close = at_ == key_close_ ? std::string_view::npos : closing_quote(kind);
    if (close == std::string_view::npos) {
      ++at_;
    } else if (peek(close + 1) == ':') {  // a dictionary's key names what follows: it stays
      key_close_ = close;
      ++at_;
    } else {
      text_slot(at_, close + 1);
    }
  }

  std::size_t closing_quote(char kind) const {
    // An apostrophe ("don't", "ranks'") is no quote: real ones stand outside words.
    if (at_ > 0 && is_word(b_[at_ - 1])) return std::string_view::npos;
    const std::size_t stop = std::min(b_.size(), at_ + kMaxQuoted);
    for (std::size_t i = at_ + 1; i < stop; ++i) {
      if (b_[i] == '\\') {
        ++i;
      } else if (b_[i] == kind && (kind == '"' || !is_word(peek(i + 1)))) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  std::string_view b_;
  MaskedBody& out_;
  std::size_t at_ = 0;
  std::size_t kept_ = 0;  // bytes before this are in the text
  std::size_t key_close_ = std::string_view::npos;
};

inline void mask_body(std::string_view body, MaskedBody& out) {
  out.text.clear();
  out.variables.clear();
  Masker(body, out).run();
}

}  // namespace logarithm::test::reference
