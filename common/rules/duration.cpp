#include "common/rules/duration.h"

#include <algorithm>
#include <array>

#include "common/rules/field_value.h"

namespace logarithm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Duration read_duration(std::string_view first, std::string_view behind) {
  Duration out;
  std::size_t at = 0;
  auto peek = [&](std::size_t ahead) {
    return at + ahead < behind.size() ? behind[at + ahead] : '\0';
  };
  auto two = [&](double& value) {
    if (peek(0) != ':' || !is_digit(peek(1)) || !is_digit(peek(2)) || is_digit(peek(3)))
      return false;
    value = (peek(1) - '0') * 10 + (peek(2) - '0');
    at += 3;
    return true;
  };
  auto hours = parse_int(first);
  double days = 0;
  for (const std::string_view word : {" days, ", " day, "}) {
    if (!behind.starts_with(word)) continue;
    out.there = true;
    if (!hours) return out;
    days = static_cast<double>(*hours);
    at = word.size();
    const std::size_t begin = at;
    while (is_digit(peek(0))) ++at;
    hours = parse_int(behind.substr(begin, at - begin));
  }
  out.there = out.there || (peek(0) == ':' && is_digit(peek(1)));
  double minutes = 0, seconds = 0;
  if (!out.there || !hours || !two(minutes)) return out;
  out.size = at;
  if (!two(seconds)) return out;
  if (peek(0) == '.' && is_digit(peek(1))) {
    double unit = 0.1;
    for (++at; is_digit(peek(0)); ++at, unit /= 10) seconds += unit * (peek(0) - '0');
  }
  out.size = at;
  if (minutes < 60 && seconds < 60) {
    out.seconds = days * 86400 + static_cast<double>(*hours) * 3600 + minutes * 60 + seconds;
  }
  return out;
}

bool is_duration(std::string_view name, std::string_view hours) {
  static constexpr std::array<std::string_view, 9> kWords{
      "eta", "elapsed", "remain", "duration", "left", "runtime", "cost", "took", "total"};
  return hours.size() != 2 || std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

}  // namespace logarithm
