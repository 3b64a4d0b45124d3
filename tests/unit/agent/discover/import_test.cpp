#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/discover/discovery.h"
#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

struct Fixture {
  test::TempDir dir;
  WorkerPool pool{1};

  std::string touch(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(dir.file(name)).parent_path());
    std::ofstream(dir.file(name)) << "line of " << name << "\n";
    return dir.file(name);
  }
  Discovered scan(ImportOptions import) {
    DiscoveryOptions options;
    options.proc_root = "/nonexistent-root";
    options.processes = false;
    options.host = "host1";
    import.job = "old";
    options.import = std::move(import);
    auto discovery = Discovery::make(std::move(options));
    REQUIRE(discovery.ok());
    auto found = pool.run_and_wait(
        [&](BlockingToken& token) { return (*discovery)->scan(token, 4'000'000'000'000'000'000); });
    REQUIRE(found.ok());
    return std::move(found).value();
  }
};

TEST_CASE_FIXTURE(Fixture, "Import: a directory is read whole, named by what lies below it") {
  touch("run/out-0.log");
  touch("run/sub/err-11.log");
  touch("run/kern.log");
  touch("run/notes.txt");

  const Discovered found = scan({.roots = {dir.file("run/")}, .tz = "CET-1"});

  REQUIRE(found.targets.size() == 4);
  const FollowTarget& kernel = found.targets[0];
  CHECK(kernel.import_base == "kern.log");
  CHECK(kernel.name == "kernel");
  CHECK(kernel.job == "old");
  CHECK(found.targets[1].name == "notes.txt");
  CHECK(found.targets[2].rank == 0);
  CHECK(found.targets[2].name == "stdout");
  CHECK(found.targets[2].utc_offset_minutes == 60);
  CHECK(found.targets[3].import_base == "sub/err-11.log");
  CHECK(found.targets[3].rank == 11);
  CHECK(found.targets[3].name == "stderr");
  CHECK(found.targets[3].host.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "Import: the zone's offset is the one it had when the file was written") {
  struct Case {
    const char* name;
    std::int64_t seconds;
    std::int32_t offset;
  };
  for (const Case& one :
       {Case{"july.log", 1'782'900'000, 120}, Case{"january.log", 1'767'300'000, 60}}) {
    const timespec when{.tv_sec = one.seconds, .tv_nsec = 0};
    const timespec both[2] = {when, when};
    REQUIRE(::utimensat(AT_FDCWD, touch(one.name).c_str(), both, 0) == 0);

    const Discovered found = scan({.roots = {dir.file(one.name)}, .tz = "Europe/Berlin"});

    REQUIRE(found.targets.size() == 1);
    CHECK(found.targets[0].utc_offset_minutes == one.offset);
  }
}

TEST_CASE_FIXTURE(Fixture, "Import: a file that may not be read is listed, and still tried") {
  const std::string path = touch("out-0.log");
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  const uid_t before = ::geteuid();
  if (before == 0) REQUIRE(::seteuid(65534) == 0);  // for root nothing is denied
  const Discovered found = scan({.roots = {dir.path()}});
  if (before == 0) REQUIRE(::seteuid(0) == 0);

  REQUIRE(found.not_captured.size() == 1);
  CHECK(found.not_captured[0].what == path);
  CHECK(found.not_captured[0].reason == "permission denied");
  CHECK(found.targets.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Import: a file is named by its base name") {
  const Discovered found = scan({.roots = {touch("a/rank-3.log")}});

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].import_base == "rank-3.log");
  CHECK(found.targets[0].rank == 3);
}

TEST_CASE_FIXTURE(Fixture, "Import: the user's expression stands for the shapes") {
  touch("n1/7/out-0.log");

  const Discovered found =
      scan({.roots = {dir.path()}, .path = R"((?P<host>n\d+)/(?P<rank>\d+)/)"});

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].rank == 7);
  CHECK(found.targets[0].host == "n1");
}

TEST_CASE_FIXTURE(Fixture, "Import: x-N.out is a rank in a family with 0, a job number alone") {
  touch("a/x-0.out");
  touch("a/x-1.out");
  touch("b/x-4711.out");

  const Discovered found = scan({.roots = {dir.path()}});

  REQUIRE(found.targets.size() == 3);
  CHECK(found.targets[0].rank == 0);
  CHECK(found.targets[1].rank == 1);
  CHECK_FALSE(found.targets[2].rank.has_value());
}

TEST_CASE_FIXTURE(Fixture, "Import: what x-0.out proves holds for x-8.err") {
  touch("a/x-0.out");
  touch("a/x-8.err");
  touch("b/x-4711.out");
  touch("b/x-4711.err");

  const Discovered found = scan({.roots = {dir.path()}});

  REQUIRE(found.targets.size() == 4);
  CHECK(found.targets[0].rank == 0);
  CHECK(found.targets[1].rank == 8);
  CHECK_FALSE(found.targets[2].rank.has_value());
  CHECK_FALSE(found.targets[3].rank.has_value());
}

TEST_CASE_FIXTURE(Fixture, "Import: what is not there is said") {
  const Discovered found = scan({.roots = {dir.file("none")}});

  CHECK(found.targets.empty());
  REQUIRE(found.not_captured.size() == 1);
  CHECK(found.not_captured[0].reason == "not readable");
}

}  // namespace
}  // namespace logarithm::agent
