#include "agent/discover/siblings.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kStart = 1'800'000'000 * kSecond;

struct Fixture {
  test::TempDir dir;
  DirectoryCache cache;
  Siblings siblings;
  WorkerPool pool{1};

  void write(const std::string& name, UnixNanos modified) {
    std::filesystem::create_directories(std::filesystem::path(dir.file(name)).parent_path());
    std::ofstream(dir.file(name)) << "x\n";
    const timespec times[2] = {{.tv_sec = modified / kSecond, .tv_nsec = 0},
                               {.tv_sec = modified / kSecond, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, dir.file(name).c_str(), times, 0) == 0);
  }
  RankFile file(const std::string& name, std::int32_t rank) {
    RankFile out;
    out.path = dir.file(name);
    out.stream = "stdout";
    out.job = "llm";
    out.rank = rank;
    out.local_rank = rank;
    out.world_size = 4;
    out.start = kStart;
    return out;
  }
  std::vector<Sibling> find(const std::vector<RankFile>& known, UnixNanos now) {
    return pool.run_and_wait(
        [&](BlockingToken& token) { return siblings.find(token, cache, known, now); });
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "Siblings: the file of a rank that was never seen is claimed, in a while") {
  for (int rank = 0; rank < 4; ++rank) write("out-" + std::to_string(rank) + ".log", kStart);
  const std::vector<RankFile> known = {file("out-0.log", 0), file("out-2.log", 2),
                                       file("out-3.log", 3)};

  CHECK(find(known, kStart).empty());
  CHECK(siblings.next_due() == kStart + Siblings::kSettle);
  const auto found = find(known, kStart + Siblings::kSettle);

  REQUIRE(found.size() == 1);
  CHECK(found[0].path == dir.file("out-1.log"));
  CHECK(found[0].rank == 1);
  CHECK(found[0].of.job == "llm");
  CHECK(found[0].of.stream == "stdout");
}

TEST_CASE_FIXTURE(Fixture, "Siblings: yesterday's files, other shapes and foreign ranks are left") {
  write("out-0.log", kStart);
  write("out-1.log", kStart - 86'400 * kSecond);
  write("out-7.log", kStart);  // the world has 4
  write("out-2.log.bak", kStart);
  write("other-2.log", kStart);
  const std::vector<RankFile> known = {file("out-0.log", 0)};

  find(known, kStart);

  CHECK(find(known, kStart + 10 * kSecond).empty());
}

TEST_CASE_FIXTURE(Fixture, "Siblings: case 61: a clock that is set back delays no claim") {
  write("out-0.log", kStart);
  write("out-1.log", kStart);
  const std::vector<RankFile> known = {file("out-0.log", 0)};
  CHECK(find(known, kStart + 3600 * kSecond).empty());

  siblings.clock_went_back(kStart);

  CHECK(find(known, kStart).empty());
  CHECK(find(known, kStart + Siblings::kSettle).size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Siblings: they are found when all ranks have died meanwhile") {
  write("out-0.log", kStart);
  write("out-1.log", kStart);
  find({file("out-0.log", 0)}, kStart);

  CHECK(find({}, kStart + 5 * kSecond).size() == 1);
  CHECK(find({}, kStart + 2 * Siblings::kLinger).empty());
}

TEST_CASE_FIXTURE(Fixture, "Siblings: a directory per rank is a shape too") {
  write("1/rank.0/stdout", kStart);
  write("1/rank.3/stdout", kStart);
  write("1/rank.3/stderr", kStart);
  const std::vector<RankFile> known = {file("1/rank.0/stdout", 0)};

  find(known, kStart);
  const auto found = find(known, kStart + 4 * kSecond);

  REQUIRE(found.size() == 1);
  CHECK(found[0].path == dir.file("1/rank.3/stdout"));
  CHECK(found[0].rank == 3);
}

TEST_CASE_FIXTURE(Fixture, "Siblings: torchrun's directories count local ranks") {
  write("llm_abcdefgh/attempt_0/0/stdout.log", kStart);
  write("llm_abcdefgh/attempt_0/1/stdout.log", kStart);
  RankFile known = file("llm_abcdefgh/attempt_0/0/stdout.log", 8);
  known.local_rank = 0;

  find({known}, kStart);
  const auto found = find({known}, kStart + 4 * kSecond);

  REQUIRE(found.size() == 1);
  CHECK(found[0].local_rank == 1);
  CHECK_FALSE(found[0].rank.has_value());
}

TEST_CASE_FIXTURE(Fixture, "Siblings: a number that is not the process's own rank proves nothing") {
  write("out-5.log", kStart);
  write("out-6.log", kStart);
  CHECK_FALSE(family_name(file("out-5.log", 0)).has_value());
  CHECK(family_name(file("out-0.log", 0))->family == dir.file("out-#.log"));
}

}  // namespace
}  // namespace logarithm::agent
