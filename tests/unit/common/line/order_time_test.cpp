#include "common/line/order_time.h"

#include <doctest/doctest.h>

#include <string>

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

namespace {

constexpr UnixNanos kAutumn = 1'792'890'000 * kSecond;  // 2026-10-25T01:00:00Z: Berlin's 3 is 2
constexpr UnixNanos kSpring = 1'774'746'000 * kSecond;  // 2026-03-29T01:00:00Z: Berlin's 2 is 3

}  // namespace

TEST_CASE("Order time: case 58: the hour that comes twice, in a stream that is followed") {
  for (const bool known : {true, false}) {
    Stream s;
    if (known) s.context.utc_offset_minutes = 120;
    CHECK(s.at("2026-10-25 02:30:00", kAutumn - 30 * kMinute).time == kAutumn - 30 * kMinute);
    CHECK(s.at("2026-10-25 02:59:58", kAutumn - 2 * kSecond).time == kAutumn - 2 * kSecond);
    const Line second = s.at("2026-10-25 02:00:03", kAutumn + 3 * kSecond);
    CHECK(second.time == kAutumn + 3 * kSecond);
    CHECK_FALSE(second.has(line_flag::derived_time | line_flag::time_suspect));
    CHECK(s.at("2026-10-25 02:40:00", kAutumn + 40 * kMinute).time == kAutumn + 40 * kMinute);
    CHECK(s.at("2026-10-25 09:00:00", kAutumn + 7 * kHour).time == kAutumn + 7 * kHour);
    // Found out anew, the zone is the new one: nothing is added twice.
    s.context.utc_offset_minutes = 60;
    CHECK(s.at("2026-10-25 10:00:00", kAutumn + 8 * kHour).time == kAutumn + 8 * kHour);
  }
}

TEST_CASE("Order time: case 58: the hour that is skipped, in a stream that is followed") {
  Stream s;
  s.context.utc_offset_minutes = 60;
  CHECK(s.at("2026-03-29 01:59:59", kSpring - kSecond).time == kSpring - kSecond);
  CHECK(s.at("2026-03-29 03:00:01", kSpring + kSecond).time == kSpring + kSecond);
  CHECK(s.at("2026-03-29 03:30:00", kSpring + 30 * kMinute).time == kSpring + 30 * kMinute);
  // A line that is late tells nothing of its own.
  CHECK(s.at("2026-03-29 03:31:00", kSpring + 40 * kMinute).time == kSpring + 31 * kMinute);
  // A time that the zone does not have comes from a clock that was not set.
  Stream skipped;
  skipped.context.utc_offset_minutes = 60;
  CHECK(skipped.at("2026-03-29 02:30:00", kSpring + 30 * kMinute).time == kSpring + 30 * kMinute);
  CHECK(skipped.at("2026-03-29 03:45:00", kSpring + 45 * kMinute).time == kSpring + 45 * kMinute);
  // And back in autumn.
  s.state.last_time = kAutumn - kSecond;
  CHECK(s.at("2026-10-25 02:00:01", kAutumn + kSecond).time == kAutumn + kSecond);
}

TEST_CASE("Order time: case 58: a stream of two zones has each where it was written") {
  Stream s;
  s.context.utc_offset_minutes = -60;
  UnixNanos now = kNewYear;
  for (int i = 0; i < 3; ++i, now += 10 * kSecond) {
    const std::string second = std::to_string(i) + "0";
    CHECK(s.at("2026-12-31 23:00:" + second, now).time == now);
    CHECK(s.at("2027-01-01 00:00:" + second, now).time == now);
  }
}

TEST_CASE("Order time: case 58: an import through a change never goes back") {
  Stream s;
  s.context.imported = true;
  s.context.utc_offset_minutes = 60;  // its end's
  const UnixNanos end = kAutumn + 9 * kHour;
  CHECK(s.at("2026-10-25 02:59:58", end).time == kAutumn + kHour - 2 * kSecond);
  UnixNanos last = 0;
  for (const char* time :
       {"02:00:03", "02:30:00", "02:20:00", "02:59:57", "02:59:58", "03:00:01"}) {
    const Line line = s.at("2026-10-25 " + std::string(time), end);
    CHECK(line.time >= last);
    last = line.time;
    const bool repeats =
        line.time == kAutumn + kHour - 2 * kSecond && std::string(time) != "02:59:58";
    CHECK(line.has(line_flag::derived_time) == repeats);
  }
  CHECK(last == kAutumn + kHour + kSecond);
  CHECK(s.at("2026-10-25 03:00:00", end).time == last - kSecond);
  Stream spring;
  spring.context.imported = true;
  spring.context.utc_offset_minutes = 120;
  const UnixNanos before = spring.at("2026-03-29 01:59:59", end).time;
  const UnixNanos skipped = spring.at("2026-03-29 02:30:00", end).time;
  const UnixNanos after = spring.at("2026-03-29 03:00:01", end).time;
  CHECK(before < skipped);
  CHECK(skipped < after);
  CHECK(after == kSpring + kSecond);
}

TEST_CASE("Order time: case 58: lines an hour old, and clocks set back, end no summer time") {
  Stream s;
  s.context.utc_offset_minutes = 120;
  // Read an hour late: in order.
  CHECK(s.at("2026-10-25 01:00:00", kAutumn - kHour).time == kAutumn - 2 * kHour);
  CHECK(s.at("2026-10-25 01:10:00", kAutumn - kHour).time == kAutumn - 2 * kHour + 10 * kMinute);
  Stream back;
  back.context.utc_offset_minutes = 120;
  CHECK(back.at("2026-10-21 02:59:58", kAutumn - 4 * 24 * kHour - 2 * kSecond).time ==
        kAutumn - 4 * 24 * kHour - 2 * kSecond);
  CHECK(back.at("2026-10-21 02:00:01", kAutumn - 4 * 24 * kHour + kSecond).time ==
        kAutumn - 4 * 24 * kHour - kHour + kSecond);
  // Writers that are a little out of order keep their times.
  Stream import;
  import.context.imported = true;
  import.context.utc_offset_minutes = 60;
  CHECK(import.at("2026-10-25 02:30:00", kAutumn + 9 * kHour).time == kAutumn + 30 * kMinute);
  CHECK(import.at("2026-10-25 02:29:59", kAutumn + 9 * kHour).time ==
        kAutumn + 30 * kMinute - kSecond);
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
