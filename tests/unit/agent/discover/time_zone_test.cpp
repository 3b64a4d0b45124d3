#include "agent/discover/time_zone.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "common/async/worker_pool.h"

namespace logarithm::agent {
namespace {

constexpr UnixNanos kJanuary = 1'768'000'000'000'000'000;  // 2026-01-09
constexpr UnixNanos kJuly = 1'783'000'000'000'000'000;     // 2026-07-02

std::optional<std::int32_t> offset(const std::string& tz, UnixNanos at) {
  WorkerPool pool(1);
  return pool.run_and_wait([&](BlockingToken& token) { return utc_offset_minutes(token, tz, at); });
}

TEST_CASE("Time zone: POSIX forms count westwards") {
  CHECK(parse_posix_zone("JST-9") == 540);
  CHECK(parse_posix_zone("<+09>-9") == 540);
  CHECK(parse_posix_zone("<-0330>3:30") == -210);
  CHECK(parse_posix_zone("UTC0") == 0);
  CHECK(parse_posix_zone("IST-5:30") == 330);
  for (const char* text :
       {"", "A", "JST", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT", "X-", "<+0", "JST-99"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_posix_zone(text).has_value());
  }
}

TEST_CASE("Time zone: UTC has many names, and what cannot be told is not guessed") {
  CHECK(offset("UTC", kJanuary) == 0);
  CHECK(offset("", kJanuary) == 0);
  CHECK(offset("UTC0", kJanuary) == 0);
  CHECK_FALSE(offset("No/Such_Zone", kJanuary).has_value());
  CHECK_FALSE(offset("../../etc/passwd", kJanuary).has_value());
  CHECK_FALSE(offset("/etc/passwd", kJanuary).has_value());
}

TEST_CASE("Time zone: a named zone has the offset of the moment, daylight saving included") {
  if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin")) return;
  CHECK(offset("Europe/Berlin", kJanuary) == 60);
  CHECK(offset(":Europe/Berlin", kJuly) == 120);
  CHECK(offset("Asia/Kolkata", kJuly) == 330);
}

TEST_CASE("Time zone: a configured zone is refused exactly where its offset cannot be told") {
  for (const char* tz : {"", "UTC", "JST-9", "<-0330>3:30"}) {
    CAPTURE(tz);
    CHECK_FALSE(time_zone_problem(tz, kJanuary).has_value());
  }
  for (const char* tz : {"Mars/Olympus", "PST", "UTC+2x", "../../etc/passwd", "/etc/passwd",
                         "Europe", "CET-1CEST,M3.5.0,M10.5.0/3", " UTC"}) {
    CAPTURE(tz);
    const auto problem = time_zone_problem(tz, kJanuary);
    REQUIRE(problem.has_value());
    CHECK(problem->find(std::string("unknown time zone ") + tz + ": write") == 0);
    CHECK_FALSE(offset(tz, kJanuary).has_value());
  }
}

TEST_CASE("Time zone: damaged zone files are refused at every length") {
  std::string bytes = "TZif2";
  bytes.resize(44, '\0');
  bytes[39] = 1;  // one type
  bytes[43] = 4;
  bytes += std::string("\0\0\x0e\x10\0\0XYZ\0", 10);
  bytes += bytes;  // the 64-bit block has the same (empty) tables
  bytes += "\n\n";

  CHECK(tzif_offset(bytes, 0) == 3600);
  for (std::size_t size = 0; size + 2 < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(tzif_offset(bytes.substr(0, size), 0).has_value());
  }
}

}  // namespace
}  // namespace logarithm::agent
