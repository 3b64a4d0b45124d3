#include "common/line/log_time.h"

#include <doctest/doctest.h>

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos k2026 = 1'767'225'600 * kSecond;  // 2026-01-01T00:00:00Z

PrintedTime date(unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second) {
  PrintedTime time;
  time.month = month;
  time.day = day;
  time.hour = hour;
  time.minute = minute;
  time.second = second;
  return time;
}

}  // namespace

TEST_CASE("Log time: ISO times with fractions and zones") {
  struct Case {
    const char* text;
    UnixNanos nanos;
    std::optional<int> offset;
  };
  const Case cases[] = {
      {"2026-01-01 00:00:01,448", 448'000'000, std::nullopt},
      {"2026/01/01T00:00:01.123456789Z", 123'456'789, 0},
      {"2026-01-01 00:00:01+05:30", 0, 330},
      {"2026-01-01 00:00:01.1234567899-0800", 123'456'789, -480},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.text));
    PrintedTime time;
    std::size_t at = 0;
    REQUIRE(read_iso(c.text, at, time));
    CHECK(at == std::string_view(c.text).size());
    CHECK(as_utc(time, 0) == k2026 + kSecond + c.nanos);
    CHECK(time.utc_offset_minutes == c.offset);
  }
}

TEST_CASE("Log time: what is no time is refused without reading past the end") {
  for (std::string_view text :
       {"", "2", "2026-01-01", "2026-01-01 ", "2026-01-01 24:00:00", "2026-01-01 1:00:00",
        "2026-0101 00:00:00", "2026-01/01 00:00:00"}) {
    CAPTURE(std::string(text));
    PrintedTime time;
    std::size_t at = 0;
    CHECK_FALSE(read_iso(text, at, time));
    CHECK(at == 0);
  }
}

TEST_CASE("Log time: case 57: without a year the closest to the observation is taken") {
  CHECK(as_utc(date(12, 31, 23, 59, 59), k2026 + 2 * kSecond) == k2026 - kSecond);
  CHECK(as_utc(date(1, 1, 0, 0, 2), k2026 - kSecond) == k2026 + 2 * kSecond);
  CHECK_FALSE(as_utc(date(2, 30, 0, 0, 0), k2026).has_value());
}

TEST_CASE("Log time: a day that the calendar lacks is no date, but 29 February is") {
  CHECK(is_date(date(2, 29, 0, 0, 0)));
  CHECK_FALSE(is_date(date(4, 31, 0, 0, 0)));
  CHECK_FALSE(is_date(date(13, 1, 0, 0, 0)));
}

TEST_CASE("Log time: the zone is the difference rounded to a quarter of an hour") {
  CHECK(estimate_utc_offset(k2026 + 9 * 3600 * kSecond, k2026 + kSecond) == 540);
  CHECK(estimate_utc_offset(k2026, k2026 + (5 * 3600 + 45 * 60) * kSecond) == -345);
  CHECK(estimate_utc_offset(k2026, k2026 + 30 * kSecond) == 0);
  CHECK_FALSE(estimate_utc_offset(k2026, k2026 + 7 * 60 * kSecond).has_value());
  CHECK_FALSE(estimate_utc_offset(k2026, k2026 + 20 * 3600 * kSecond).has_value());
}

}  // namespace logarithm
