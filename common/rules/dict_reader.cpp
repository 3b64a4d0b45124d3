#include "common/rules/dict_reader.h"

#include <algorithm>

#include "common/rules/field_value.h"

namespace logarithm {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxEntries = 128;
constexpr std::size_t kMaxText = 256;  // a longer string is no field

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

class DictParser {
 public:
  DictParser(std::string_view body, DictSyntax syntax, std::vector<DictEntry>& out)
      : s_(body), python_(syntax == DictSyntax::python), out_(out) {}

  bool run() {
    blanks();
    if (!object("", 0)) return false;
    blanks();
    return at_ == s_.size();
  }

 private:
  char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  void blanks() {
    while (at_ < s_.size() && is_blank(s_[at_])) ++at_;
  }
  bool take(char c) {
    if (peek() != c || at_ >= s_.size()) return false;
    ++at_;
    return true;
  }

  bool object(const std::string& prefix, int depth) {
    if (depth > kMaxDepth || !take('{')) return false;
    blanks();
    if (take('}')) return true;
    for (;;) {
      std::string key;
      std::string_view span;
      if (!quoted(key, span)) return false;
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!value(prefix.empty() ? key : prefix + "." + key, depth)) return false;
      blanks();
      if (take('}')) return true;
      if (!take(',')) return false;
      blanks();
      if (take('}')) return true;  // a trailing comma is Python's
    }
  }

  bool value(const std::string& key, int depth) {
    const char c = peek();
    if (c == '{') return object(key, depth + 1);
    if (c == '[' || c == '(') return skip_list();
    if (c == '"' || c == '\'') {
      std::string text;
      std::string_view span;
      if (!quoted(text, span)) return false;
      add_text(key, std::move(text), span);
      return true;
    }
    return bare(key);
  }

  bool quoted(std::string& text, std::string_view& span) {
    const char quote = peek();
    if (quote != '"' && !(python_ && quote == '\'')) return false;
    const std::size_t begin = ++at_;
    while (at_ < s_.size() && s_[at_] != quote) {
      if (s_[at_] != '\\') {
        text.push_back(s_[at_++]);
      } else if (!escape(text)) {
        return false;
      }
    }
    span = s_.substr(begin, at_ - begin);
    return take(quote);
  }

  bool escape(std::string& text) {
    if (at_ + 1 >= s_.size()) return false;
    const char c = s_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'n': text.push_back('\n'); return true;
      case 't': text.push_back('\t'); return true;
      case 'r': text.push_back('\r'); return true;
      case 'b': text.push_back('\b'); return true;
      case 'f': text.push_back('\f'); return true;
      case 'u': break;
      default: text.push_back(c); return true;
    }
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char h = peek();
      unsigned digit = 0;
      if (h >= '0' && h <= '9') {
        digit = static_cast<unsigned>(h - '0');
      } else if ((h | 0x20) >= 'a' && (h | 0x20) <= 'f') {
        digit = static_cast<unsigned>((h | 0x20) - 'a') + 10;
      } else {
        return false;
      }
      code = code * 16 + digit;
    }
    append_utf8(text, code);
    return true;
  }

  // A number, true, None, `tensor(2.31, device='cuda:0')`.
  bool bare(const std::string& key) {
    const std::size_t begin = at_;
    while (is_bare(peek())) ++at_;
    std::string_view word = s_.substr(begin, at_ - begin);
    if (word.empty()) return false;
    if (python_ && peek() == '(') {
      const std::size_t inside = at_ + 1;
      if (!skip_list()) return false;
      std::size_t end = inside;
      while (end < at_ && is_bare(s_[end])) ++end;
      word = s_.substr(inside, end - inside);
      add_number(key, word);
      return true;
    }
    if (word == "null" || word == "None") return true;
    if (word == "true" || word == "True" || word == "false" || word == "False") {
      add({key, std::string(word[0] == 't' || word[0] == 'T' ? "true" : "false"), word, false});
      return true;
    }
    return add_number(key, word);
  }

  bool add_number(const std::string& key, std::string_view word) {
    if (const auto whole = parse_int(word)) {
      add({key, *whole, word, true});
    } else if (const auto real = parse_double(word)) {
      add({key, *real, word, true});
    } else {
      return false;
    }
    return true;
  }

  void add_text(const std::string& key, std::string text, std::string_view span) {
    if (text.size() <= 32 && text.size() == span.size() && add_number(key, span)) return;
    if (text.size() <= kMaxText) add({key, std::move(text), span, false});
  }

  void add(DictEntry entry) {
    if (out_.size() < kMaxEntries) out_.push_back(std::move(entry));
  }

  // Over a list, tuple or call, nested ones and strings included.
  bool skip_list() {
    std::string open;
    do {
      if (at_ >= s_.size()) return false;
      const char c = s_[at_];
      if (c == '[' || c == '(' || c == '{') {
        if (open.size() > 64) return false;
        open.push_back(c == '[' ? ']' : c == '(' ? ')' : '}');
        ++at_;
      } else if (c == ']' || c == ')' || c == '}') {
        if (open.back() != c) return false;
        open.pop_back();
        ++at_;
      } else if (c == '"' || (python_ && c == '\'')) {
        std::string text;
        std::string_view span;
        if (!quoted(text, span)) return false;
      } else {
        ++at_;
      }
    } while (!open.empty());
    return true;
  }

  std::string_view s_;
  bool python_;
  std::vector<DictEntry>& out_;
  std::size_t at_ = 0;
};

}  // namespace

bool read_dict(std::string_view body, DictSyntax syntax, std::vector<DictEntry>& out) {
  out.clear();
  return DictParser(body, syntax, out).run();
}

}  // namespace logarithm
