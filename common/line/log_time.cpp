#include "common/line/log_time.h"

#include <chrono>
#include <cstdlib>

namespace logarithm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool read_char(std::string_view text, std::size_t& at, std::string_view any) {
  if (at >= text.size() || any.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

void read_zone(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (read_char(text, i, "Z")) {
    time.utc_offset_minutes = 0;
    at = i;
    return;
  }
  const bool west = i < text.size() && text[i] == '-';
  unsigned hours = 0, minutes = 0;
  if (!read_char(text, i, "+-") || !read_digits(text, i, 2, hours)) return;
  read_char(text, i, ":");
  if (!read_digits(text, i, 2, minutes) || hours > 14 || minutes > 59) return;
  const int offset = static_cast<int>(hours * 60 + minutes);
  time.utc_offset_minutes = west ? -offset : offset;
  at = i;
}

std::optional<UnixNanos> in_year(const PrintedTime& time, int year) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year{year}, month{time.month}, day{time.day}};
  if (!date.ok() || year < 1971 || year > 2200) return std::nullopt;
  const std::int64_t days = sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = days * 86400 + time.hour * 3600 + time.minute * 60 + time.second;
  return seconds * kSecond + time.nanos;
}

}  // namespace

bool read_digits(std::string_view text, std::size_t& at, unsigned count, unsigned& value) {
  if (text.size() < count || at > text.size() - count) return false;
  unsigned result = 0;
  for (unsigned i = 0; i < count; ++i) {
    const char c = text[at + i];
    if (!is_digit(c)) return false;
    result = result * 10 + static_cast<unsigned>(c - '0');
  }
  value = result;
  at += count;
  return true;
}

bool read_clock(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (!read_digits(text, i, 2, time.hour) || !read_char(text, i, ":") ||
      !read_digits(text, i, 2, time.minute) || !read_char(text, i, ":") ||
      !read_digits(text, i, 2, time.second) || time.hour > 23 || time.minute > 59 ||
      time.second > 60) {
    return false;
  }
  time.nanos = 0;
  if (i + 1 < text.size() && (text[i] == '.' || text[i] == ',') && is_digit(text[i + 1])) {
    std::int64_t unit = kSecond / 10;
    for (++i; i < text.size() && is_digit(text[i]); ++i, unit /= 10) {
      time.nanos += unit * (text[i] - '0');
    }
  }
  at = i;
  return true;
}

bool read_date(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  unsigned year = 0;
  if (!read_digits(text, i, 4, year) || i >= text.size()) return false;
  const std::string_view separator = text.substr(i, 1);
  if (!read_char(text, i, "-/") || !read_digits(text, i, 2, time.month) ||
      !read_char(text, i, separator) || !read_digits(text, i, 2, time.day)) {
    return false;
  }
  time.year = static_cast<int>(year);
  at = i;
  return true;
}

bool read_iso(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (!read_date(text, i, time) || !read_char(text, i, " T") || !read_clock(text, i, time)) {
    return false;
  }
  read_zone(text, i, time);
  at = i;
  return true;
}

bool is_date(const PrintedTime& time) {
  using namespace std::chrono;
  constexpr int kLeapYear = 2024;
  return year_month_day{year{time.year.value_or(kLeapYear)}, month{time.month}, day{time.day}}.ok();
}

std::optional<UnixNanos> as_utc(const PrintedTime& time, UnixNanos near) {
  if (time.year) return in_year(time, *time.year);
  using namespace std::chrono;
  const auto today = floor<days>(sys_time<nanoseconds>{nanoseconds{near}});
  const int year = static_cast<int>(year_month_day{today}.year());
  std::optional<UnixNanos> best;
  for (int candidate = year - 1; candidate <= year + 1; ++candidate) {
    const auto value = in_year(time, candidate);
    if (value && (!best || std::abs(*value - near) < std::abs(*best - near))) best = value;
  }
  return best;
}

std::optional<int> estimate_utc_offset(UnixNanos local, UnixNanos observed) {
  constexpr std::int64_t kStep = 15 * kMinute;
  const std::int64_t difference = local - observed;
  const std::int64_t half = difference >= 0 ? kStep / 2 : -kStep / 2;
  const std::int64_t steps = (difference + half) / kStep;
  if (std::abs(difference - steps * kStep) > kMinute) return std::nullopt;
  const int minutes = static_cast<int>(steps * 15);
  if (minutes < -12 * 60 || minutes > 14 * 60) return std::nullopt;
  return minutes;
}

}  // namespace logarithm
