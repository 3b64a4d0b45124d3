#include "aggregator/compare/line_values.h"

#include <algorithm>
#include <array>

#include "aggregator/compare/agreement.h"
#include "aggregator/query/own_measure.h"
#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

// A variable or a word of a body.
struct Token {
  std::string_view text;
  std::size_t begin = 0;
  bool variable = false;
};

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<Token> tokens_of(std::string_view body) {
  MaskedBody masked;
  mask_body(body, masked);
  std::vector<Token> out;
  std::size_t at = 0;
  const auto words_until = [&](std::size_t end) {
    while (at < end) {
      std::size_t stop = at;
      while (stop < end && is_word_char(body[stop])) ++stop;
      if (stop > at) out.push_back({body.substr(at, stop - at), at, false});
      at = std::max(stop, at + 1);
    }
  };
  for (const Span& span : masked.variables) {
    words_until(span.begin);
    out.push_back({body.substr(span.begin, span.length), span.begin, true});
    at = span.begin + span.length;
  }
  words_until(body.size());
  return out;
}

// "0x7f3a…", a UUID, a long hex id: another one on every rank.
bool is_address(std::string_view value) {
  if (value.size() > 2 && value[0] == '0' && (value[1] | 0x20) == 'x') return true;
  if (value.size() < 8) return false;
  bool letter = false;
  for (const char c : value) {
    const bool hex = is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') || c == '-';
    if (!hex) return false;
    letter = letter || !(is_digit(c) || c == '-');
  }
  return letter;
}

// What follows a number that is a duration, or stands before one.
bool is_time(std::string_view body, const Token& token) {
  static constexpr std::array<std::string_view, 8> kNames = {"time",  "took",    "elapsed", "eta",
                                                             "after", "latency", "uptime",  "date"};
  const std::size_t at = token.begin + token.text.size();
  // 12:30:59, 2026-01-01
  if (at < body.size() && (body[at] == ':' || body[at] == '-') && at + 1 < body.size() &&
      is_digit(body[at + 1])) {
    return true;
  }
  if (token.begin >= 2 && (body[token.begin - 1] == ':' || body[token.begin - 1] == '-') &&
      is_digit(body[token.begin - 2])) {
    return true;
  }
  if (is_own_unit(unit_of(body.substr(at)))) return true;
  // "elapsed time per iteration (ms): 12.5", "took 3"
  const std::string_view before = body.substr(0, token.begin);
  const std::size_t cut = before.find_last_of("|,;");
  std::string name(before.substr(cut == std::string_view::npos ? 0 : cut + 1));
  if (name.size() > 48) name.erase(0, name.size() - 48);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  // The nearest words decide, up to the number before.
  const std::size_t digit = name.find_last_of("0123456789");
  if (digit != std::string::npos) name.erase(0, digit + 1);
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

// The word before a number says that each rank measures it for itself: "memory: 18.06GiB".
bool is_measured(std::string_view body, const Token& token) {
  std::size_t end = token.begin;
  while (end > 0 && (body[end - 1] == ' ' || body[end - 1] == ':' || body[end - 1] == '=')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word_char(body[begin - 1])) --begin;
  return is_own_measure(body.substr(begin, end - begin));
}

bool is_own(std::string_view value, const OwnFacts& own) {
  if (own.numbers.contains(std::string(value))) return true;
  // "cuda:3", "/out/rank3/log": the own number inside of a longer value.
  if (!own.host.empty() && value.find(own.host) != std::string_view::npos) return true;
  return false;
}

// Equal once the numbers in both that are the ranks' own are left out: paths, quoted strings.
bool equal_but_own(std::string_view left, const OwnFacts& of_left, std::string_view right,
                   const OwnFacts& of_right) {
  std::size_t x = 0, y = 0;
  while (x < left.size() && y < right.size()) {
    std::size_t ex = x, ey = y;
    while (ex < left.size() && is_digit(left[ex])) ++ex;
    while (ey < right.size() && is_digit(right[ey])) ++ey;
    if (ex > x && ey > y) {
      const std::string a(left.substr(x, ex - x)), b(right.substr(y, ey - y));
      if (a != b && !(of_left.numbers.contains(a) && of_right.numbers.contains(b))) return false;
      x = ex, y = ey;
    } else if (left[x] == right[y]) {
      ++x, ++y;
    } else {
      return false;
    }
  }
  return x == left.size() && y == right.size();
}

}  // namespace

std::vector<ValueDifference> value_differences(std::string_view left, const OwnFacts& of_left,
                                               std::string_view right, const OwnFacts& of_right) {
  std::vector<ValueDifference> out;
  if (left == right) return out;
  const std::vector<Token> a = tokens_of(left), b = tokens_of(right);
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a[i].text == b[i].text) continue;
    if (is_own(a[i].text, of_left) && is_own(b[i].text, of_right)) continue;
    if (equal_but_own(a[i].text, of_left, b[i].text, of_right)) continue;
    if (a[i].variable && b[i].variable) {
      if (is_address(a[i].text) && is_address(b[i].text)) continue;
      if (is_time(left, a[i]) && is_time(right, b[i])) continue;
      if (is_measured(left, a[i]) && is_measured(right, b[i])) continue;
    }
    out.push_back({std::string(a[i].text), std::string(b[i].text)});
  }
  for (std::size_t i = common; i < a.size(); ++i) out.push_back({std::string(a[i].text), ""});
  for (std::size_t i = common; i < b.size(); ++i) out.push_back({"", std::string(b[i].text)});
  return out;
}

}  // namespace logarithm::aggregator
