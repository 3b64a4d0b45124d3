#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "common/base/types.h"

namespace logarithm {

// A time as a log line prints it: perhaps without date, year or zone; or no clock at all.
struct PrintedTime {
  std::optional<int> year;
  unsigned month = 0, day = 0;  // 0: only a clock was printed
  unsigned hour = 0, minute = 0, second = 0;
  std::int64_t nanos = 0;
  std::optional<int> utc_offset_minutes;
  std::optional<UnixNanos> instant;  // printed as seconds (ms, us, ns) since 1970: all of the time
  std::optional<UnixNanos> uptime;   // printed as seconds since the host booted
  bool impossible = false;  // of the form of a time, but none: the 30th of February, hour 25

  bool has_date() const { return month != 0; }
};

// Reads a time of any usual form at `at`, the zone behind it included, and moves `at` behind it.
// False (and both as they were) when there is none. See README.md for the forms.
bool read_time(std::string_view text, std::size_t& at, PrintedTime& time);
// read_time(), or what has the form of a date and a clock and is neither: then `time` says so, and
// nothing else in it means anything.
bool read_time_form(std::string_view text, std::size_t& at, PrintedTime& time);

// Reads `HH:MM:SS` with an optional fraction after '.' or ','; `at` moves behind it. False (and
// `at` as it was) when there is none.
bool read_clock(std::string_view text, std::size_t& at, PrintedTime& time);
// The same whatever the values are, which is_clock() judges; for readers that a DigitTrace follows.
bool read_clock_form(std::string_view text, std::size_t& at, PrintedTime& time);
bool is_clock(const PrintedTime& time);
// `YYYY-MM-DD`, `YYYY/MM/DD` or `YYYY.MM.DD`.
bool read_date(std::string_view text, std::size_t& at, PrintedTime& time);
// `YYYY-MM-DD[ T]clock` with an optional zone.
bool read_iso(std::string_view text, std::size_t& at, PrintedTime& time);
// `Z`, `+01:00`, `+0100`, ` +0100`, ` UTC`; nothing when none of them is there.
void read_zone(std::string_view text, std::size_t& at, PrintedTime& time);
// `count` decimal digits.
bool read_digits(std::string_view text, std::size_t& at, unsigned count, unsigned& value);
// `1772600767.448120`, or 13, 16 or 19 digits (ms, us, ns): a time after 2001-09-09.
bool read_epoch(std::string_view text, std::size_t& at, PrintedTime& time);

// True when the calendar has that day (29 February also where no year says otherwise), or no day
// was printed.
bool is_date(const PrintedTime& time);

// The printed time as if its zone were UTC. Without a year or a day, the one that lies closest to
// `near` and not after `latest`. nullopt when there is no such date, or it is not within 1971 …
// 2200, or only an uptime was printed.
std::optional<UnixNanos> as_utc(const PrintedTime& time, UnixNanos near,
                                UnixNanos latest = std::numeric_limits<UnixNanos>::max());

// The zone's offset in minutes that explains `local` (see as_utc) best when the line was written at
// `observed`: the difference rounded to 15 minutes. nullopt when that is no zone (beyond -12 h …
// +14 h), or when over a minute is left, so that the line was not written just now.
std::optional<int> estimate_utc_offset(UnixNanos local, UnixNanos observed);

}  // namespace logarithm
