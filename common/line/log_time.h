#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/types.h"

namespace logarithm {

// A time as a log line prints it: perhaps without year, perhaps without zone.
struct PrintedTime {
  std::optional<int> year;
  unsigned month = 0, day = 0;
  unsigned hour = 0, minute = 0, second = 0;
  std::int64_t nanos = 0;
  std::optional<int> utc_offset_minutes;
};

// Reads `HH:MM:SS` with an optional fraction after '.' or ','; `at` moves behind it. False (and
// `at` as it was) when there is none.
bool read_clock(std::string_view text, std::size_t& at, PrintedTime& time);
// `YYYY-MM-DD` or `YYYY/MM/DD`.
bool read_date(std::string_view text, std::size_t& at, PrintedTime& time);
// `YYYY-MM-DD[ T]clock` with an optional zone `Z`, `+01:00`, `+0100`.
bool read_iso(std::string_view text, std::size_t& at, PrintedTime& time);
// `count` decimal digits.
bool read_digits(std::string_view text, std::size_t& at, unsigned count, unsigned& value);

// True when the calendar has that day (29 February also where no year says otherwise).
bool is_date(const PrintedTime& time);

// The printed time as if its zone were UTC. Without a year, the one that lies closest to `near`.
// nullopt when there is no such date, or it is not within 1971 … 2200.
std::optional<UnixNanos> as_utc(const PrintedTime& time, UnixNanos near);

// The zone's offset in minutes that explains `local` (see as_utc) best when the line was written at
// `observed`: the difference rounded to 15 minutes. nullopt when that is no zone (beyond -12 h …
// +14 h), or when over a minute is left, so that the line was not written just now.
std::optional<int> estimate_utc_offset(UnixNanos local, UnixNanos observed);

}  // namespace logarithm
