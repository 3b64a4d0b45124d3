#include "aggregator/query/logql_lexer.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace logarithm::aggregator {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void append_utf8(std::string& out, std::uint32_t point) {
  auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

class Lexer {
 public:
  Lexer(std::string_view text, std::size_t& position) : text_(text), error_position_(position) {}

  Result<std::vector<Token>> run() {
    if (text_.size() > kMaxQueryBytes) {
      return fail(kMaxQueryBytes, "the query is longer than 64 KiB");
    }
    std::vector<Token> tokens;
    while (true) {
      skip_blank();
      if (at_ >= text_.size()) break;
      if (tokens.size() >= kMaxQueryTokens) return fail(at_, "the query has too many parts");
      LGR_TRY(Token token, next());
      tokens.push_back(std::move(token));
    }
    Token end;
    end.position = text_.size();
    tokens.push_back(std::move(end));
    return tokens;
  }

 private:
  Error fail(std::size_t position, std::string message) {
    error_position_ = position;
    return Error(ErrorCode::invalid, std::move(message));
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  Token take(TokenKind kind, std::size_t length) {
    Token token;
    token.kind = kind;
    token.position = at_;
    token.text = text_.substr(at_, length);
    at_ += length;
    return token;
  }

  Result<Token> next() {
    const char c = peek();
    if (c == '"') return quoted();
    if (c == '`') return raw();
    if (is_digit(c) || ((c == '-' || c == '+' || c == '.') && starts_number())) return number();
    if (is_letter(c)) return word();
    return symbol();
  }

  Result<Token> symbol() {
    const char c = peek(), d = peek(1);
    switch (c) {
      case '{': return take(TokenKind::open_brace, 1);
      case '}': return take(TokenKind::close_brace, 1);
      case '(': return take(TokenKind::open_paren, 1);
      case ')': return take(TokenKind::close_paren, 1);
      case ',': return take(TokenKind::comma, 1);
      case '|':
        if (d == '=') return take(TokenKind::line_contains, 2);
        if (d == '~') return take(TokenKind::line_match, 2);
        if (d == '>') return fail(at_, "pattern filters (|>) are not supported; use |~");
        return take(TokenKind::pipe, 1);
      case '=':
        if (d == '=') return take(TokenKind::equal, 2);
        if (d == '~') return take(TokenKind::match, 2);
        return take(TokenKind::assign, 1);
      case '!':
        if (d == '=') return take(TokenKind::not_equal, 2);
        if (d == '~') return take(TokenKind::not_match, 2);
        return fail(at_, "expected != or !~");
      case '<': return d == '=' ? take(TokenKind::less_equal, 2) : take(TokenKind::less, 1);
      case '>': return d == '=' ? take(TokenKind::greater_equal, 2) : take(TokenKind::greater, 1);
      case '\'': return fail(at_, "strings are quoted with \" or `");
      case '[': return fail(at_, "[ranges] belong to metric queries, which are not supported yet");
      default: return fail(at_, "unexpected character");
    }
  }

  bool starts_number() const {
    const char d = peek(1);
    return is_digit(d) || (d == '.' && is_digit(peek(2))) || d == 'I' || d == 'i' || d == 'N' ||
           d == 'n';
  }

  static bool same_word(std::string_view word, std::string_view lower) {
    if (word.size() != lower.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if ((word[i] | 0x20) != lower[i]) return false;
    }
    return true;
  }

  static std::optional<double> special_number(std::string_view word) {
    if (same_word(word, "nan")) return std::numeric_limits<double>::quiet_NaN();
    if (same_word(word, "inf") || same_word(word, "infinity")) {
      return std::numeric_limits<double>::infinity();
    }
    return std::nullopt;
  }

  Result<Token> word() {
    std::size_t length = 0;
    while (at_ + length < text_.size() &&
           (is_letter(peek(length)) || is_digit(peek(length)) || peek(length) == '.')) {
      ++length;
    }
    Token token = take(TokenKind::identifier, length);
    if (auto value = special_number(token.text)) {
      token.kind = TokenKind::number;
      token.number = *value;
    }
    return token;
  }

  Result<Token> number() {
    const std::size_t begin = at_;
    std::size_t length = peek() == '+' || peek() == '-' ? 1 : 0;
    while (at_ + length < text_.size()) {
      const char c = peek(length), before = length > 0 ? peek(length - 1) : '\0';
      const bool exponent_sign = (c == '+' || c == '-') && (before == 'e' || before == 'E');
      if (!is_digit(c) && !is_letter(c) && c != '.' && !exponent_sign) break;
      ++length;
    }
    Token token = take(TokenKind::number, length);
    std::string_view digits = token.text;
    if (digits.front() == '+') digits.remove_prefix(1);
    const char* end = digits.data() + digits.size();
    std::int64_t integer = 0;
    if (auto [stop, problem] = std::from_chars(digits.data(), end, integer);
        problem == std::errc{} && stop == end) {
      token.number = integer;
      return token;
    }
    const bool negative = digits.front() == '-';
    if (auto value = special_number(negative ? digits.substr(1) : digits)) {
      token.number = negative ? -*value : *value;
      return token;
    }
    double real = 0;
    auto [stop, problem] = std::from_chars(digits.data(), end, real);
    if (stop != end || problem == std::errc::invalid_argument) {
      return fail(begin, "not a number: " + token.text);
    }
    if (problem == std::errc::result_out_of_range) {
      return fail(begin, "the number does not fit a double: " + token.text);
    }
    token.number = real;
    return token;
  }

  Result<Token> raw() {
    const std::size_t close = text_.find('`', at_ + 1);
    if (close == std::string_view::npos) return fail(at_, "the ` string is not closed");
    Token token;
    token.kind = TokenKind::string;
    token.position = at_;
    token.text = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    return token;
  }

  Result<Token> quoted() {
    Token token;
    token.kind = TokenKind::string;
    token.position = at_++;
    while (true) {
      if (at_ >= text_.size()) return fail(token.position, "the \" string is not closed");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        LGR_CHECK(escape(token.text));
      } else {
        token.text.push_back(c);
        ++at_;
      }
    }
    ++at_;
    return token;
  }

  Result<std::uint32_t> digits(std::size_t from, std::size_t count, int base) {
    std::uint32_t value = 0;
    if (from + count <= text_.size()) {
      const char* begin = text_.data() + from;
      auto [stop, problem] = std::from_chars(begin, begin + count, value, base);
      if (problem == std::errc{} && stop == begin + count) return value;
    }
    return fail(at_, "bad escape in a string");
  }

  Status escape(std::string& out) {
    const char c = peek(1);
    static constexpr std::string_view kFrom = "abfnrtv\\\"'", kTo = "\a\b\f\n\r\t\v\\\"'";
    if (auto found = kFrom.find(c); c != '\0' && found != std::string_view::npos) {
      out.push_back(kTo[found]);
      at_ += 2;
      return {};
    }
    if (c == 'x' || (c >= '0' && c <= '7')) {
      const bool hex = c == 'x';
      const std::size_t length = hex ? 4 : 4;
      LGR_TRY(std::uint32_t byte, digits(at_ + (hex ? 2 : 1), hex ? 2 : 3, hex ? 16 : 8));
      if (byte > 0xFF) return fail(at_, "bad escape in a string");
      out.push_back(static_cast<char>(byte));
      at_ += length;
      return {};
    }
    if (c == 'u' || c == 'U') {
      const std::size_t count = c == 'u' ? 4 : 8;
      LGR_TRY(std::uint32_t point, digits(at_ + 2, count, 16));
      if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
        return fail(at_, "not a Unicode character in a string");
      }
      append_utf8(out, point);
      at_ += 2 + count;
      return {};
    }
    return fail(at_, "unknown escape in a string (use ` for raw text)");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t& error_position_;
};

}  // namespace

Result<std::vector<Token>> lex_logql(std::string_view query, std::size_t& position) {
  return Lexer(query, position).run();
}

}  // namespace logarithm::aggregator
