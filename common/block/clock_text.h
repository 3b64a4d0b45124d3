#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Clock readings in text that can be given back from the time column: what a variable of a logger's
// header shows is often a part of the line's own time. README, "Time from the column".
namespace logarithm::block {

// Numbers are the format; never reused.
enum class ClockFormat : std::uint8_t {
  year = 0,                  // 2026
  month_day = 1,             // 0304
  month = 2,                 // 03
  day = 3,                   // 04
  hour = 4,                  // 05
  minute = 5,                // 06
  second = 6,                // 07
  millis = 7,                // 448
  micros = 8,                // 448120
  nanos = 9,                 // 448120903
  second_millis = 10,        // 07.448
  second_micros = 11,        // 07.448120
  second_nanos = 12,         // 07.448120903
  clock = 13,                // 05:06:07
  clock_millis = 14,         // 05:06:07.448
  clock_micros = 15,         // 05:06:07.448120
  clock_nanos = 16,          // 05:06:07.448120903
  comma_millis = 17,         // 05:06:07,448
  date = 18,                 // 2026-03-04
  compact_date = 19,         // 20260304
  second_comma_millis = 20,  // 07,448
};

struct Clock {
  ClockFormat format = ClockFormat::year;
  std::int64_t utc_offset_minutes = 0;
};

// True for a known format and an offset within a day.
bool is_clock(std::uint8_t format, std::int64_t utc_offset_minutes);

// Appends `time` (nanoseconds since 1970, UTC) as that clock shows it; fractions are cut, not
// rounded. Total: any time gives some text.
void append_clock(ClockFormat format, std::int64_t utc_offset_minutes, std::int64_t time,
                  std::string& out);

// The clock that gives every one of `values` from `times`, if one does. None for empty times.
std::optional<Clock> find_clock(const std::vector<std::string_view>& values,
                                const std::vector<std::int64_t>& times);

}  // namespace logarithm::block
