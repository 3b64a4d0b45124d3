#include "agent/follow/import_zone.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr std::int64_t kNoon = 1'796'040'000;  // 2026-11-30T12:00:00Z

struct ImportFixture : FollowFixture {
  // Imports `text` in a file that was last written at `modified`.
  const std::vector<Line>& import(const std::string& text, std::int64_t modified,
                                  std::optional<std::int32_t> tz = {}) {
    options.once = true;
    append("out.log", text);
    const timespec when{.tv_sec = modified, .tv_nsec = 0};
    const timespec both[2] = {when, when};
    LGR_ASSERT(::utimensat(AT_FDCWD, path("out.log").c_str(), both, 0) == 0);
    FollowTarget file = target("out.log");
    file.import_base = "out.log";
    file.utc_offset_minutes = tz;
    follower().set_targets({file});
    run();
    LGR_ASSERT(streams().size() == 1);
    return streams()[0]->lines;
  }
};

TEST_CASE_FIXTURE(ImportFixture,
                  "Import zone: the last time was printed when the file was written") {
  const auto& lines = import(
      "[2026-11-30 17:20:00,000] first\n"
      "[2026-11-30 17:30:00,000] last\nno time here\n",
      kNoon + 20);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].time == (kNoon - 600) * kSecond);
  CHECK(lines[1].time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: west of Greenwich") {
  CHECK(import("[2026-11-30 04:00:00,000] x\n", kNoon)[0].time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: what was stated comes first") {
  CHECK(import("[2026-11-30 17:30:00,000] x\n", kNoon, 540)[0].time ==
        (kNoon - 3 * 3600 - 1800) * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture,
                  "Import zone: lines without a time may follow for a collective's time-out") {
  CHECK(import("[2026-11-30 05:00:00,000] x\n", kNoon + 601)[0].time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: a time without a date tells none") {
  CHECK(import("05:00:00.000 [main] INFO  org.apache.Store - x\n", kNoon + 60)[0].time ==
        (kNoon - 7 * 3600) * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: no clock is set to a quarter of an hour") {
  CHECK(import("[2026-11-30 11:45:00,000] x\n", kNoon)[0].time == (kNoon - 900) * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: UTC where the mtime does not fit") {
  CHECK(import("[2026-11-30 11:00:00,000] x\n", kNoon + 1400)[0].time == (kNoon - 3600) * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture,
                  "Import zone: a time that names its zone says nothing about others") {
  const auto& lines = import(
      "[2026-11-30 21:00:00,000] x\n"
      "2026-11-30T12:00:01+00:00 INFO y\n",
      kNoon + 1);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: only the end of a long file is looked at") {
  std::string text = "[2026-11-29 09:00:00,000] first\n";
  for (int i = 0; i < 9000; ++i)
    text += "[2026-11-30 20:59:00,000] step " + std::to_string(i) + "\n";
  const auto& lines = import(text + "[2026-11-30 21:00:00,000] last\n", kNoon);
  REQUIRE(lines.size() == 9002);
  CHECK(lines[0].time == (kNoon - 36 * 3600) * kSecond);
  CHECK(lines.back().time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import boot: uptimes of a kernel's log lie apart as they say") {
  const auto& lines =
      import("[  100.000000] a\nkern  :err   : [  130.500000] NVRM: b\n[  190.000000] c\n", kNoon);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].time == (kNoon - 90) * kSecond);
  CHECK(lines[1].time == (kNoon - 60) * kSecond + kSecond / 2);
  CHECK(lines[2].time == kNoon * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import boot: a log store's time is better than an uptime") {
  const auto& lines = import("Nov 30 11:59:00 n1 kernel: [  100.000000] a\n", kNoon);
  CHECK(lines[0].time == (kNoon - 60) * kSecond);
}

TEST_CASE_FIXTURE(ImportFixture, "Import zone: one line longer than the look-back is no time") {
  const auto& lines = import("[2026-11-30 21:00:00,000] " + std::string(100'000, 'x'), kNoon);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].has(line_flag::derived_time));
}

}  // namespace
}  // namespace logarithm::test
