#include "common/line/json_text.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace logarithm {
namespace {

constexpr unsigned kDepth = 64;

std::optional<unsigned> hex4(std::string_view text, std::size_t at) {
  if (text.size() < 4 || at > text.size() - 4) return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// The character of the `\u` escape whose digits begin at `at`; `at` moves behind it, and behind the
// second half of a pair.
std::optional<std::uint32_t> read_unicode(std::string_view text, std::size_t& at) {
  const auto unit = hex4(text, at);
  if (!unit) return std::nullopt;
  at += 4;
  if (*unit < 0xD800 || *unit > 0xDFFF) return *unit;
  if (*unit < 0xDC00 && text.substr(at, 2) == "\\u") {
    const auto low = hex4(text, at + 2);
    if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
      at += 6;
      return 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
    }
  }
  return 0xFFFD;
}

char simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    case '"':
    case '\\':
    case '/': return c;
    default: return '\0';
  }
}

}  // namespace

JsonObject::JsonObject(std::string_view text) : text_(text) {
  blanks();
  if (at_ < text_.size() && text_[at_] == '{') {
    ++at_;
    open_ = true;
  }
}

void JsonObject::blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

bool JsonObject::read_string(std::string_view& out) {
  if (at_ >= text_.size() || text_[at_] != '"') return false;
  const std::size_t begin = ++at_;
  for (;;) {
    const void* found =
        at_ < text_.size() ? std::memchr(text_.data() + at_, '"', text_.size() - at_) : nullptr;
    if (found == nullptr) return false;
    const auto quote = static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
    std::size_t slashes = quote;
    while (slashes > begin && text_[slashes - 1] == '\\') --slashes;
    at_ = quote + 1;
    if ((quote - slashes) % 2 == 0) {
      out = text_.substr(begin, quote - begin);
      return true;
    }
  }
}

// A value that is no string: up to the comma or the brace that ends it.
bool JsonObject::skip_value() {
  unsigned depth = 0;
  std::string_view ignored;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      if (!read_string(ignored)) return false;
      --at_;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepth) return false;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return true;
      --depth;
    } else if (c == ',' && depth == 0) {
      return true;
    }
  }
  return false;
}

bool JsonObject::next() {
  if (!open_) return false;
  open_ = false;  // unless all goes well
  blanks();
  if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
    blanks();
    complete_ = at_ == text_.size();
    return false;
  }
  if (!first_) {
    if (at_ >= text_.size() || text_[at_] != ',') return false;
    ++at_;
    blanks();
  }
  first_ = false;
  if (!read_string(key_)) return false;
  blanks();
  if (at_ >= text_.size() || text_[at_] != ':') return false;
  ++at_;
  blanks();
  is_string_ = at_ < text_.size() && text_[at_] == '"';
  if (is_string_) {
    if (!read_string(value_)) return false;
  } else {
    const std::size_t begin = at_;
    if (!skip_value()) return false;
    value_ = text_.substr(begin, at_ - begin);
  }
  open_ = true;
  return true;
}

void append_unescaped(std::string_view escaped, std::string& out) {
  std::size_t at = 0;
  while (at < escaped.size()) {
    const std::size_t slash = escaped.find('\\', at);
    if (slash == std::string_view::npos || slash + 1 >= escaped.size()) break;
    out.append(escaped, at, slash - at);
    at = slash + 2;
    if (escaped[slash + 1] == 'u') {
      if (const auto code = read_unicode(escaped, at)) {
        append_utf8(*code, out);
        continue;
      }
    } else if (const char plain = simple_escape(escaped[slash + 1]); plain != '\0') {
      out.push_back(plain);
      continue;
    }
    out.append(escaped, slash, 2);
  }
  out.append(escaped, at, escaped.size() - at);
}

}  // namespace logarithm
