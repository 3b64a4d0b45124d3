#include "cli/run_place.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace logarithm::cli {
namespace {

namespace fs = std::filesystem;
constexpr UnixNanos kNow = 1'796'000'000'000'000'000;

RunPlaceRequest request(const test::TempDir& dir, const std::string& job) {
  RunPlaceRequest out;
  out.base = dir.file("run");
  out.job = job;
  out.now = kNow;
  out.pid = 17;
  return out;
}

TEST_CASE("RunPlace: a run has a directory of its own, below its job") {
  test::TempDir dir;
  const auto place = make_place(request(dir, "team/llm"));
  REQUIRE(place.ok());
  CHECK(place->directory == dir.file("run") + "/team/llm/20261130T005320-17");
  CHECK(fs::is_directory(place->directory));
  CHECK(place->file("stdout") == place->directory + "/stdout.log");
  CHECK_FALSE(place->attempt);
}

TEST_CASE("RunPlace: attempts are counted per job") {
  test::TempDir dir;
  auto counted = request(dir, "j");
  counted.count_attempts = true;
  for (std::int32_t expected : {0, 1, 2}) {
    const auto place = make_place(counted);
    REQUIRE(place.ok());
    CHECK(place->attempt == expected);
    CHECK(fs::exists(dir.file("run") + "/j/attempt-" + std::to_string(expected)));
  }
}

TEST_CASE("RunPlace: a job's name never leads out of the base") {
  test::TempDir dir;
  for (const char* job :
       {"", "..", "a/../../b", "/a", "a//b", "a/", ".", "attempt-3", "x/attempt-1"}) {
    CAPTURE(job);
    const auto place = make_place(request(dir, job));
    REQUIRE_FALSE(place.ok());
    CHECK(place.error().code() == ErrorCode::invalid);
  }
}

TEST_CASE("RunPlace: old runs are removed, but not what is written, young or not ours") {
  test::TempDir dir;
  const std::string base = dir.file("run");
  const auto make = [&](const std::string& run, UnixNanos age, const char* file = "stdout.log") {
    fs::create_directories(base + "/j/" + run);
    const std::string path = base + "/j/" + run + "/" + file;
    std::ofstream(path) << "text";
    struct timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = (kNow - age) / 1'000'000'000;
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
    return path;
  };
  constexpr UnixNanos kDay = 86'400'000'000'000;
  const auto old = make("20261120T000000-1", 8 * kDay);
  const auto young = make("20261129T000000-2", kDay);
  const auto held = make("20261101T000000-3", 20 * kDay);
  const auto other_file = make("20261101T000000-4", 20 * kDay, "notes.txt");
  const auto other_name = make("precious", 20 * kDay);
  const int fd = ::open(held.c_str(), O_RDONLY);
  REQUIRE(::flock(fd, LOCK_SH) == 0);

  remove_old_runs(base, kNow, std::chrono::hours(7 * 24), 10);

  ::close(fd);
  CHECK_FALSE(fs::exists(base + "/j/20261120T000000-1"));
  for (const auto& kept : {young, held, other_file, other_name}) CHECK(fs::exists(kept));
}

TEST_CASE("RunPlace: how the command ended lies beside its files, and goes with them") {
  test::TempDir dir;
  auto asked = request(dir, "j");
  const auto place = make_place(asked);
  REQUIRE(place.ok());
  std::ofstream(place->file("stdout")) << "text";

  note_status(*place, 0x300);

  const std::string file = place->directory + "/.exit-status";
  std::string text;
  std::getline(std::ifstream(file), text);
  CHECK(text == "768");
  struct timespec old[2] = {};
  for (const std::string& path : {file, place->file("stdout")}) {
    ::utimensat(AT_FDCWD, path.c_str(), old, 0);
  }
  remove_old_runs(asked.base, kNow, std::chrono::hours(1), 10);
  CHECK_FALSE(fs::exists(place->directory));
  note_status(*place, 0);  // where there is no place, nothing happens
}

TEST_CASE("RunPlace: the base is where state belongs, or unknown") {
  CHECK(default_base("/x", "/home/a") == "/x/logarithm/run");
  CHECK(default_base("", "/home/a") == "/home/a/.local/state/logarithm/run");
  CHECK(default_base("relative", "") == "");
}

}  // namespace
}  // namespace logarithm::cli
