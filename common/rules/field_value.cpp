#include "common/rules/field_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace logarithm {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(text[i]) != word[i]) return false;
  }
  return true;
}

// `12`, `0.8319`, `7.123456E+00`: at most 15 digits, and a power of ten that a double holds
// exactly. One operation on two exact numbers rounds correctly, as from_chars does, at a fraction
// of its cost. False for all else, numbers or not.
bool small_decimal(std::string_view text, double& value) {
  constexpr std::size_t kDigits = 15;
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (text.size() > kDigits + 6) return false;
  std::int64_t digits = 0;
  std::size_t count = 0, i = 0;
  int power = 0;
  const auto run = [&] {
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, ++count) {
      if (count < kDigits) digits = digits * 10 + (text[i] - '0');
    }
  };
  run();
  if (i < text.size() && text[i] == '.') {
    const std::size_t whole = count;
    ++i;
    run();
    power = static_cast<int>(whole) - static_cast<int>(count);
  }
  if (count == 0 || count > kDigits) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool less = i < text.size() && text[i] == '-';
    if (less || (i < text.size() && text[i] == '+')) ++i;
    const std::size_t begin = i;
    int exponent = 0;
    for (; i < text.size() && i < begin + 3 && text[i] >= '0' && text[i] <= '9'; ++i) {
      exponent = exponent * 10 + (text[i] - '0');
    }
    if (i == begin) return false;
    power += less ? -exponent : exponent;
  }
  if (i != text.size() || power < -22 || power > 22) return false;
  value = static_cast<double>(digits);
  value = power < 0 ? value / kPowers[-power] : value * kPowers[power];
  return true;
}

// A number that no double holds: infinity, as Python reads it, or 0.
double beyond_doubles(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t power = 0;  // of ten, of the first digit that is not 0
  bool point = false, found = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    point = point || text[i] == '.';
    found = found || (text[i] >= '1' && text[i] <= '9');
    if (text[i] == '.') continue;
    if (found && !point) ++power;
    if (!found && point) --power;
  }
  const bool less = i + 1 < text.size() && text[i + 1] == '-';
  std::int64_t exponent = 0;
  for (; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    exponent = std::min(exponent * 10 + (text[i] - '0'), kMost);
  }
  const bool large = power + (less ? -exponent : exponent) > 0;
  return found && large ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace

std::optional<FieldType> parse_field_type(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, FieldType>, 5> kTypes{{
      {"int", FieldType::integer},
      {"float", FieldType::floating},
      {"string", FieldType::string},
      {"int_thousands", FieldType::int_thousands},
      {"time", FieldType::time},
  }};
  for (const auto& [name, type] : kTypes) {
    if (name == word) return type;
  }
  return std::nullopt;
}

std::optional<double> parse_double(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  double value = 0;
  if (same_word(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (same_word(text, "inf") || same_word(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    // from_chars would also take "nan(…)" and a second sign.
    if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
    if (!small_decimal(text, value)) {
      const char* end = text.data() + text.size();
      const auto [stop, problem] = std::from_chars(text.data(), end, value);
      if (stop != end) return std::nullopt;
      if (problem == std::errc::result_out_of_range) {
        value = beyond_doubles(text);
      } else if (problem != std::errc{}) {
        return std::nullopt;
      }
    }
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_int(std::string_view text, bool thousands) {
  if (const auto plain = plain_digits(text)) return plain;
  std::string digits;
  if (thousands && text.find(',') != std::string_view::npos) {
    for (char c : text) {
      if (c != ',') digits.push_back(c);
    }
    text = digits;
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

void set_field(MetaValue& to, FieldType type, std::string_view text) {
  switch (type) {
    case FieldType::integer:
    case FieldType::int_thousands:
      if (auto value = parse_int(text, type == FieldType::int_thousands)) {
        to = *value;
        return;
      }
      break;
    case FieldType::floating:
      if (auto value = parse_double(text)) {
        to = *value;
        return;
      }
      if (auto whole = parse_int(text, true)) {
        to = static_cast<double>(*whole);
        return;
      }
      break;
    case FieldType::time:
    case FieldType::string: break;
  }
  to.emplace<std::string>(text);
}

MetaValue field_value(FieldType type, std::string_view text) {
  MetaValue value;
  set_field(value, type, text);
  return value;
}

namespace {

std::optional<unsigned> month_of(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kMonths{
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  for (unsigned i = 0; i < kMonths.size(); ++i) {
    if (same_word(name, kMonths[i])) return i + 1;
  }
  return std::nullopt;
}

// `Mar  4 05:06:07`, `Mar 04 2026 05:06:07`
std::optional<PrintedTime> named_month(std::string_view text) {
  if (text.size() < 15) return std::nullopt;
  PrintedTime time;
  const auto month = month_of(text.substr(0, 3));
  if (!month || text[3] != ' ') return std::nullopt;
  time.month = *month;
  std::size_t at = 4;
  if (text[at] == ' ') {
    if (!read_digits(text, ++at, 1, time.day)) return std::nullopt;
  } else if (!read_digits(text, at, 2, time.day)) {
    return std::nullopt;
  }
  if (text[at] != ' ') return std::nullopt;
  std::size_t year_end = ++at;
  unsigned year = 0;
  if (read_digits(text, year_end, 4, year) && year_end < text.size() && text[year_end] == ' ') {
    time.year = static_cast<int>(year);
    at = year_end + 1;
  }
  if (!read_clock(text, at, time) || at != text.size()) return std::nullopt;
  return time;
}

std::optional<PrintedTime> short_date(std::string_view text) {
  PrintedTime time;
  std::size_t at = 0;
  if (!read_digits(text, at, 2, time.month) || at >= text.size() ||
      (text[at] != '/' && text[at] != '-') || !read_digits(text, ++at, 2, time.day) ||
      at >= text.size() || text[at] != ' ' || !read_clock(text, ++at, time) || at != text.size()) {
    return std::nullopt;
  }
  return time;
}

std::optional<PrintedTime> epoch(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto seconds = parse_int(text.substr(0, dot));
  if (!seconds || dot < 9 || dot > 10) return std::nullopt;  // years 1973 … 2286
  PrintedTime time;
  using namespace std::chrono;
  const sys_seconds instant{std::chrono::seconds{*seconds}};
  const auto day_start = floor<days>(instant);
  const year_month_day date{day_start};
  const hh_mm_ss clock{instant - day_start};
  time.year = static_cast<int>(date.year());
  time.month = static_cast<unsigned>(date.month());
  time.day = static_cast<unsigned>(date.day());
  time.hour = static_cast<unsigned>(clock.hours().count());
  time.minute = static_cast<unsigned>(clock.minutes().count());
  time.second = static_cast<unsigned>(clock.seconds().count());
  time.utc_offset_minutes = 0;
  std::int64_t unit = 100'000'000;
  for (std::size_t i = dot + 1; i < text.size(); ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    time.nanos += unit * (text[i] - '0');
  }
  return time;
}

}  // namespace

std::optional<PrintedTime> parse_time(std::string_view text) {
  std::optional<PrintedTime> time;
  PrintedTime iso;
  std::size_t at = 0;
  std::string blank;  // `2026-03-04_05:06:01`
  std::string_view dated = text;
  if (text.size() > 10 && text[10] == '_') {
    blank = text;
    blank[10] = ' ';
    dated = blank;
  }
  if (read_iso(dated, at, iso) && at == dated.size()) {
    time = iso;
  } else {
    time = named_month(text);
    if (!time) time = short_date(text);
    if (!time) time = epoch(text);
    PrintedTime other;
    at = 0;
    if (!time && read_time(text, at, other) && at == text.size()) time = other;
  }
  if (time && !is_date(*time)) time.reset();
  return time;
}

std::string metric_name(std::string_view text) {
  constexpr std::size_t kMaxName = 64;
  std::string out;
  for (char c : text) {
    const char small = lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) {
      out.push_back(small);
    } else if (!out.empty() && out.back() != '_') {
      out.push_back('_');
    }
  }
  if (out.size() > kMaxName) out.resize(kMaxName);
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

}  // namespace logarithm
