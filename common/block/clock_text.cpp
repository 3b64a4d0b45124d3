#include "common/block/clock_text.h"

#include <array>
#include <chrono>

namespace logarithm::block {
namespace {

constexpr std::int64_t kLast = static_cast<std::int64_t>(ClockFormat::second_comma_millis);
constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::int64_t kDayNanos = 24 * 60 * kMinute;
// Zones lie on quarter hours; UTC first, so that the usual case ends the search at once.
constexpr std::int64_t kStep = 15;
constexpr std::int64_t kWest = -12 * 60;
constexpr std::int64_t kEast = 14 * 60;

struct Reading {
  std::uint64_t year, month, day, hour, minute, second, nanos;
};

Reading read_clock(std::int64_t utc_offset_minutes, std::int64_t time) {
  // Days first: adding the offset to the nanoseconds could overflow.
  std::int64_t days = time / kDayNanos;
  std::int64_t rest = time % kDayNanos + utc_offset_minutes * kMinute;
  while (rest < 0) {
    rest += kDayNanos;
    --days;
  }
  while (rest >= kDayNanos) {
    rest -= kDayNanos;
    ++days;
  }
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days))));
  const auto since_midnight = static_cast<std::uint64_t>(rest);
  const std::uint64_t seconds = since_midnight / 1'000'000'000;
  return {static_cast<std::uint64_t>(static_cast<int>(date.year())),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          seconds / 3600,
          seconds / 60 % 60,
          seconds % 60,
          since_midnight % 1'000'000'000};
}

void digits(std::string& out, std::uint64_t value, std::size_t width) {
  const std::size_t begin = out.size();
  out.append(width, '0');
  for (std::size_t i = width; i > 0; --i, value /= 10) {
    out[begin + i - 1] = static_cast<char>('0' + value % 10);
  }
}

void append_time_of_day(std::string& out, const Reading& at) {
  digits(out, at.hour, 2);
  out.push_back(':');
  digits(out, at.minute, 2);
  out.push_back(':');
  digits(out, at.second, 2);
}

// How long the text of each format is: most slots are ruled out by it.
constexpr std::array<std::size_t, kLast + 1> kSizes = {4, 4,  2, 2,  2,  2,  2,  3,  6, 9, 6,
                                                       9, 12, 8, 12, 15, 18, 12, 10, 8, 6};

bool gives_all(const Clock& clock, const std::vector<std::string_view>& values,
               const std::vector<std::int64_t>& times, std::string& scratch) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    scratch.clear();
    append_clock(clock.format, clock.utc_offset_minutes, times[i], scratch);
    if (scratch != values[i]) return false;
  }
  return true;
}

}  // namespace

bool is_clock(std::uint8_t format, std::int64_t utc_offset_minutes) {
  return format <= kLast && utc_offset_minutes >= -24 * 60 && utc_offset_minutes <= 24 * 60;
}

void append_clock(ClockFormat format, std::int64_t utc_offset_minutes, std::int64_t time,
                  std::string& out) {
  const Reading at = read_clock(utc_offset_minutes, time);
  const auto fraction = [&out, &at](char point, std::size_t width) {
    static constexpr std::array<std::uint64_t, 10> kUnit = {0, 0,     0, 1'000'000, 0,
                                                            0, 1'000, 0, 0,         1};
    if (point != 0) out.push_back(point);
    digits(out, at.nanos / kUnit[width], width);
  };
  switch (format) {
    case ClockFormat::year: return digits(out, at.year, 4);
    case ClockFormat::month_day: return digits(out, at.month * 100 + at.day, 4);
    case ClockFormat::month: return digits(out, at.month, 2);
    case ClockFormat::day: return digits(out, at.day, 2);
    case ClockFormat::hour: return digits(out, at.hour, 2);
    case ClockFormat::minute: return digits(out, at.minute, 2);
    case ClockFormat::second: return digits(out, at.second, 2);
    case ClockFormat::millis: return fraction(0, 3);
    case ClockFormat::micros: return fraction(0, 6);
    case ClockFormat::nanos: return fraction(0, 9);
    case ClockFormat::second_millis: digits(out, at.second, 2); return fraction('.', 3);
    case ClockFormat::second_micros: digits(out, at.second, 2); return fraction('.', 6);
    case ClockFormat::second_nanos: digits(out, at.second, 2); return fraction('.', 9);
    case ClockFormat::second_comma_millis: digits(out, at.second, 2); return fraction(',', 3);
    case ClockFormat::clock: return append_time_of_day(out, at);
    case ClockFormat::clock_millis: append_time_of_day(out, at); return fraction('.', 3);
    case ClockFormat::clock_micros: append_time_of_day(out, at); return fraction('.', 6);
    case ClockFormat::clock_nanos: append_time_of_day(out, at); return fraction('.', 9);
    case ClockFormat::comma_millis: append_time_of_day(out, at); return fraction(',', 3);
    case ClockFormat::compact_date:
      return digits(out, at.year * 10'000 + at.month * 100 + at.day, 8);
    case ClockFormat::date:
      digits(out, at.year, 4);
      out.push_back('-');
      digits(out, at.month, 2);
      out.push_back('-');
      return digits(out, at.day, 2);
  }
}

std::optional<Clock> find_clock(const std::vector<std::string_view>& values,
                                const std::vector<std::int64_t>& times) {
  if (values.empty() || times.size() != values.size()) return std::nullopt;
  const std::string_view first = values.front();
  if (first.empty() || first.front() < '0' || first.front() > '9') return std::nullopt;
  std::string scratch;
  for (std::size_t format = 0; format < kSizes.size(); ++format) {
    if (kSizes[format] != first.size()) continue;
    Clock clock{static_cast<ClockFormat>(format), 0};
    if (gives_all(clock, values, times, scratch)) return clock;
    for (clock.utc_offset_minutes = kWest; clock.utc_offset_minutes <= kEast;
         clock.utc_offset_minutes += kStep) {
      if (gives_all(clock, values, times, scratch)) return clock;
    }
  }
  return std::nullopt;
}

}  // namespace logarithm::block
