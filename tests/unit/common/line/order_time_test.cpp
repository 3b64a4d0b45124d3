#include "common/line/order_time.h"

#include <doctest/doctest.h>

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr UnixNanos kNewYear = 1'798'761'600 * kSecond;  // 2027-01-01T00:00:00Z

// Reads the printed time of each line at its own moment.
struct Stream {
  Line at(std::string_view printed, UnixNanos observed) {
    Line line;
    line.observed = observed;
    std::optional<PrintedTime> time;
    if (!printed.empty()) {
      std::size_t end = 0;
      time.emplace();
      REQUIRE(read_time(printed, end, *time));
    }
    set_order_time(line, time, context, state);
    return line;
  }
  StreamContext context;
  ParserState state;
};

Stream in_utc() {
  Stream s;
  s.context.utc_offset_minutes = 0;
  return s;
}

}  // namespace

TEST_CASE("Order time: case 57: December and January seen from the other side of the year") {
  Stream s = in_utc();
  CHECK(s.at("12/31 23:59:59", kNewYear + 2 * kSecond).time == kNewYear - kSecond);
  CHECK(s.at("01/01 00:00:01", kNewYear - kSecond).time == kNewYear + kSecond);
  CHECK(s.at("Dec 31 23:59:59", kNewYear).time == kNewYear - kSecond);
}

TEST_CASE("Order time: case 57: a file from last March is of last March") {
  Stream s = in_utc();
  s.context.imported = true;
  const Line line = s.at("03/04 05:06:07", 1'772'604'000 * kSecond);  // 2026-03-04T06:00:00Z
  CHECK(line.time == 1'772'600'767 * kSecond);
  // Read in January, its mtime lost: never in the future.
  Stream copied = in_utc();
  copied.context.imported = true;
  CHECK(copied.at("03/04 05:06:07", kNewYear).time == 1'772'600'767 * kSecond);
}

TEST_CASE("Order time: a clock without date is of the day that is nearest, over midnight too") {
  Stream s = in_utc();
  CHECK(s.at("23:59:58", kNewYear + kSecond).time == kNewYear - 2 * kSecond);
  CHECK(s.at("00:00:01", kNewYear - kSecond).time == kNewYear + kSecond);
  CHECK(s.at("10:00:00", kNewYear + 23 * kHour).time == kNewYear + 10 * kHour);
  Stream tokyo;
  tokyo.context.utc_offset_minutes = 540;
  CHECK(tokyo.at("08:59:59", kNewYear).time == kNewYear - kSecond);
  Stream unknown;
  CHECK(unknown.at("09:00:00", kNewYear + 2 * kSecond).time == kNewYear);
  CHECK(unknown.state.utc_offset_minutes == 540);
}

TEST_CASE("Order time: a clock without date in an imported file was not in its future") {
  Stream s;
  s.context.imported = true;
  for (const int hour : {6, 12, 17, 18, 23}) {
    const Line line = s.at("05:06:07", kNewYear + hour * kHour);
    CHECK(line.time == kNewYear + 5 * kHour + 6 * kMinute + 7 * kSecond);
    CHECK(!line.has(line_flag::time_suspect));
  }
  CHECK(s.at("23:00:00", kNewYear + 2 * kHour).time == kNewYear - kHour);
}

TEST_CASE("Order time: seconds since 1970 need no zone") {
  Stream s;
  s.context.utc_offset_minutes = 540;
  CHECK(s.at("1798761600.5", kNewYear).time == kNewYear + kSecond / 2);
  CHECK(s.at("1798761600500", kNewYear).time == kNewYear + kSecond / 2);
}

TEST_CASE("Order time: case 61: a clock that steps back is told as it was printed") {
  Stream s = in_utc();
  CHECK(s.at("2027-01-01 00:00:00", kNewYear).time == kNewYear);
  const Line back = s.at("2026-12-31 23:00:01", kNewYear + kSecond);
  CHECK(back.time == kNewYear - kHour + kSecond);
  CHECK_FALSE(back.has(line_flag::time_suspect));
  CHECK(s.at("", kNewYear + 2 * kSecond).time == back.time);
}

TEST_CASE("Order time: case 60: lines older than the newest keep their time") {
  Stream s = in_utc();
  s.at("2027-01-01 00:00:00", kNewYear);
  const Line old = s.at("2026-12-30 00:00:00", kNewYear + kSecond);
  CHECK(old.time == kNewYear - 48 * kHour);
  CHECK_FALSE(old.has(line_flag::derived_time));
}

TEST_CASE("Order time: an uptime counts from the boot that the newest line knows, never ahead") {
  Stream s;
  PrintedTime early, late;
  early.uptime = 10 * kSecond;
  late.uptime = 100 * kSecond;
  auto at = [&](const PrintedTime& time, UnixNanos observed) {
    Line line;
    line.observed = observed;
    set_order_time(line, time, s.context, s.state);
    CHECK(line.has(line_flag::derived_time));
    return line.time;
  };
  // Read at once, long after they were written: no later than seen, in their order.
  CHECK(at(early, kNewYear) == kNewYear);
  CHECK(at(late, kNewYear) == kNewYear);
  CHECK(at(early, kNewYear) == kNewYear - 90 * kSecond);
  late.uptime = 105 * kSecond;
  CHECK(at(late, kNewYear + 7 * kSecond) == kNewYear + 5 * kSecond);
}

}  // namespace logarithm
