#include "common/line/log_time.h"

#include <chrono>
#include <cstdlib>

#include "common/line/digit_trace.h"

namespace logarithm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kDay = 24 * 60 * kMinute;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool read_char(std::string_view text, std::size_t& at, std::string_view any) {
  if (at >= text.size()) return false;
  for (char c : any) {
    if (c == text[at]) return ++at, true;
  }
  return false;
}

std::int64_t clock_nanos(const PrintedTime& time) {
  return (time.hour * 3600 + time.minute * 60 + time.second) * kSecond + time.nanos;
}

std::optional<UnixNanos> in_year(const PrintedTime& time, int year) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year{year}, month{time.month}, day{time.day}};
  if (!date.ok() || year < 1971 || year > 2200) return std::nullopt;
  return sys_days{date}.time_since_epoch().count() * kDay + clock_nanos(time);
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

void read_zone(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (read_char(text, i, "Z")) {
    time.utc_offset_minutes = 0;
    at = i;
    return;
  }
  const bool apart = read_char(text, i, " ");
  const auto rest = text.substr(i);
  if (rest.starts_with("UTC") || rest.starts_with("GMT")) {
    i += 3;
    if (i < text.size() && is_word(text[i])) return;
    time.utc_offset_minutes = 0;
    at = i;
    return;
  }
  const bool west = i < text.size() && text[i] == '-';
  unsigned hours = 0, minutes = 0;
  if (!read_char(text, i, "+-") || !read_digits(text, i, 2, hours)) return;
  const bool colon = read_char(text, i, ":");
  if (!read_digits(text, i, 2, minutes) && (colon || apart)) return;
  if (hours > 14 || minutes > 59 || (i < text.size() && is_digit(text[i]))) return;
  const int offset = static_cast<int>(hours * 60 + minutes);
  time.utc_offset_minutes = west ? -offset : offset;
  at = i;
}

namespace {

bool clock_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (!read_clock_form(text, i, time) || !is_clock(time)) return false;
  at = i;
  return true;
}

bool date_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  unsigned year = 0;
  if (!read_digits(text, i, 4, year) || i >= text.size()) return false;
  const std::string_view separator = text.substr(i, 1);
  if (!read_char(text, i, "-/.") || !read_digits(text, i, 2, time.month) ||
      !read_char(text, i, separator) || !read_digits(text, i, 2, time.day)) {
    return false;
  }
  time.year = static_cast<int>(year);
  at = i;
  return true;
}

bool iso_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (!date_at(text, i, time) || !read_char(text, i, " T") || !clock_at(text, i, time)) {
    return false;
  }
  read_zone(text, i, time);
  at = i;
  return true;
}

}  // namespace

bool read_clock(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::clock, text, at, time, clock_at);
}
bool read_clock_form(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  if (!read_digits(text, i, 2, time.hour) || !read_char(text, i, ":") ||
      !read_digits(text, i, 2, time.minute) || !read_char(text, i, ":") ||
      !read_digits(text, i, 2, time.second)) {
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
bool is_clock(const PrintedTime& time) {
  return time.hour < 24 && time.minute < 60 && time.second <= 60;
}
bool read_date(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::date, text, at, time, date_at);
}
bool read_iso(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::iso, text, at, time, iso_at);
}

bool is_date(const PrintedTime& time) {
  using namespace std::chrono;
  constexpr int kLeapYear = 2024;
  if (!time.has_date()) return true;
  return year_month_day{year{time.year.value_or(kLeapYear)}, month{time.month}, day{time.day}}.ok();
}

std::optional<UnixNanos> as_utc(const PrintedTime& time, UnixNanos near, UnixNanos latest) {
  if (time.instant) return time.instant;
  if (time.uptime) return std::nullopt;
  if (time.year) return in_year(time, *time.year);
  std::optional<UnixNanos> best;
  auto consider = [&](std::optional<UnixNanos> value) {
    if (!value || *value > latest) return;
    if (!best || std::abs(*value - near) < std::abs(*best - near)) best = value;
  };
  using namespace std::chrono;
  const auto today = floor<days>(sys_time<nanoseconds>{nanoseconds{near}});
  if (!time.has_date()) {
    const std::int64_t midnight = today.time_since_epoch().count() * kDay;
    for (int days_away = -1; days_away <= 1; ++days_away) {
      consider(midnight + days_away * kDay + clock_nanos(time));
    }
    return best;
  }
  const int year = static_cast<int>(year_month_day{today}.year());
  for (int candidate = year - 1; candidate <= year + 1; ++candidate) {
    consider(in_year(time, candidate));
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
