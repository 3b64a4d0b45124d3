#include "common/block/clock_text.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace logarithm::block;

namespace {

// 2026-11-30T04:09:07.448120903Z
constexpr std::int64_t kTime = 1'796'011'747'448'120'903;

std::string shown(ClockFormat format, std::int64_t offset = 0, std::int64_t time = kTime) {
  std::string out;
  append_clock(format, offset, time, out);
  return out;
}

}  // namespace

TEST_CASE("ClockText: every format shows its part of the time") {
  CHECK(shown(ClockFormat::date) == "2026-11-30");
  CHECK(shown(ClockFormat::compact_date) == "20261130");
  CHECK(shown(ClockFormat::month_day) == "1130");
  CHECK(shown(ClockFormat::year) == "2026");
  CHECK(shown(ClockFormat::clock_nanos) == "04:09:07.448120903");
  CHECK(shown(ClockFormat::comma_millis) == "04:09:07,448");
  CHECK(shown(ClockFormat::second_micros) == "07.448120");
  CHECK(shown(ClockFormat::second_comma_millis) == "07,448");
  CHECK(shown(ClockFormat::clock, 90) == "05:39:07");
  CHECK(shown(ClockFormat::day, -300) == "29");
  CHECK(shown(ClockFormat::date, 0, -1) == "1969-12-31");
  CHECK(shown(ClockFormat::clock_nanos, 0, -1) == "23:59:59.999999999");
}

TEST_CASE("ClockText: any time in any format gives some text of the format's size") {
  for (const std::int64_t time :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    for (std::uint8_t format = 0; is_clock(format, 0); ++format) {
      const auto text = shown(static_cast<ClockFormat>(format), 840, time);
      CHECK(text.size() == shown(static_cast<ClockFormat>(format)).size());
    }
  }
  CHECK_FALSE(is_clock(200, 0));
  CHECK_FALSE(is_clock(0, 1441));
}

TEST_CASE("ClockText: a clock is found when it gives every value, zone included") {
  const std::vector<std::int64_t> times = {kTime, kTime + 3'600'000'000'000, kTime + 1};
  std::vector<std::string> texts;
  for (const std::int64_t time : times)
    texts.push_back(shown(ClockFormat::clock_micros, 330, time));
  std::vector<std::string_view> values(texts.begin(), texts.end());

  const auto clock = find_clock(values, times);
  REQUIRE(clock);
  CHECK(clock->format == ClockFormat::clock_micros);
  CHECK(clock->utc_offset_minutes == 330);

  values[2] = "09:39:07.448121";
  CHECK_FALSE(find_clock(values, times));
  CHECK_FALSE(find_clock(values, {}));
}
