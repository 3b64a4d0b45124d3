#include "common/config/units.h"

#include <doctest/doctest.h>

namespace logarithm::config {

TEST_CASE("parse_duration: reads what format_duration writes, and sums of units") {
  using std::chrono::nanoseconds;
  CHECK(parse_duration("10s").value() == std::chrono::seconds(10));
  CHECK(parse_duration("250ms").value() == std::chrono::milliseconds(250));
  CHECK(parse_duration("1h30m").value() == std::chrono::minutes(90));
  CHECK(parse_duration("7d").value() == std::chrono::hours(168));
  CHECK(parse_duration("0").value() == nanoseconds(0));
  for (std::int64_t count : {1ll, 999ll, 1'000ll, 90'000'000'000ll, 9'223'372'036'854'775'807ll}) {
    CAPTURE(count);
    CHECK(parse_duration(format_duration(nanoseconds(count))).value() == nanoseconds(count));
  }
}

TEST_CASE("parse_duration: refuses numbers without unit, fractions, signs and overflow") {
  for (const char* text : {"", "10", "s", "1.5s", "-1s", "10 s", "1x", "200000d", "106751d1000000h",
                           "99999999999999999999s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text).ok());
  }
}

TEST_CASE("parse_size: reads what format_size writes") {
  CHECK(parse_size("64MiB").value() == 64u << 20);
  CHECK(parse_size("4096").value() == 4096);
  CHECK(parse_size("10B").value() == 10);
  for (std::uint64_t bytes : {0ull, 1ull, 1023ull, 1024ull, 3ull << 30, 5ull << 40, ~0ull}) {
    CAPTURE(bytes);
    CHECK(parse_size(format_size(bytes)).value() == bytes);
  }
}

TEST_CASE("parse_size: refuses decimal units, fractions and overflow") {
  for (const char* text : {"", "MiB", "1MB", "1.5GiB", "-1", "1 MiB", "99999999999TiB", "1MiB2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text).ok());
  }
}

}  // namespace logarithm::config
