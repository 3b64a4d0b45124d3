#include "agent/discover/pipe_readers.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "agent/discover/discovery.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_proc.h"

namespace logarithm::agent {
namespace {

using test::FakeProc;

constexpr UnixNanos kSecond = 1'000'000'000;

struct Fixture {
  FakeProc proc;
  test::TempDir dir;
  WorkerPool pool{1};
  std::unique_ptr<Discovery> discovery;
  UnixNanos now = FakeProc::kBoot + 1000 * kSecond;

  std::string touch(const std::string& name) {
    std::ofstream(dir.file(name)) << "line\n";
    return dir.file(name);
  }
  void put_rank(std::int32_t number, const std::string& output, std::int32_t parent = 1) {
    proc.put({.pid = 100 + number,
              .parent = parent,
              .environment = {{"TORCHELASTIC_RUN_ID", "llm"},
                              {"RANK", std::to_string(number)},
                              {"LOCAL_RANK", std::to_string(number)},
                              {"WORLD_SIZE", "4"}},
              .fds = {{1, output}, {2, output}}});
  }
  void put_reader(std::int32_t pid, const std::string& name, std::map<int, std::string> fds,
                  std::vector<std::string> command = {}, std::int32_t parent = 1) {
    if (command.empty()) command = {name};
    proc.put({.pid = pid,
              .parent = parent,
              .environment = {{"PATH", "/bin"}},
              .fds = fds,
              .command = command,
              .name = name});
  }
  Discovered scan() {
    if (!discovery) {
      DiscoveryOptions options;
      options.proc_root = proc.root();
      options.host = "host1";
      auto made = Discovery::make(options);
      REQUIRE(made.ok());
      discovery = std::move(made).value();
    }
    now += kSecond;
    auto found =
        pool.run_and_wait([&](BlockingToken& token) { return discovery->scan(token, now); });
    REQUIRE(found.ok());
    return std::move(found).value();
  }
};

TEST_CASE_FIXTURE(Fixture, "Pipes: `train | tee log` is captured in tee's file") {
  put_rank(0, "pipe:[7]");
  put_reader(60, "tee", {{0, "pipe:[7]"}, {1, "/dev/null"}, {3, touch("run.log")}});

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("run.log"));
  CHECK(found.targets[0].name == "stdout");
  CHECK(found.targets[0].aliases == std::vector<std::string>{"stderr"});
  CHECK(found.targets[0].rank == 0);
  CHECK(found.targets[0].process == found.processes.at(0).key());
  CHECK(found.not_captured.empty());
}

TEST_CASE_FIXTURE(Fixture, "Pipes: several ranks into one tee are one shared stream without rank") {
  for (int number = 0; number < 3; ++number) put_rank(number, "pipe:[7]");
  put_reader(60, "tee", {{0, "pipe:[7]"}, {3, touch("run.log")}});

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].shared);
  CHECK_FALSE(found.targets[0].rank.has_value());
  CHECK(found.targets[0].process.empty());
  CHECK(found.targets[0].holders.size() == 3);
  CHECK(found.not_captured.empty());
}

TEST_CASE_FIXTURE(Fixture, "Pipes: filters hand on to the one that has a file") {
  put_rank(1, "pipe:[7]");
  put_reader(60, "grep", {{0, "pipe:[7]"}, {1, "pipe:[8]"}});
  put_reader(61, "ts", {{0, "pipe:[8]"}, {1, touch("run.log")}});

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("run.log"));
  CHECK(found.targets[0].rank == 1);
}

TEST_CASE_FIXTURE(Fixture, "Pipes: what a launcher collects into its own output has no rank") {
  put_reader(50, "mpirun", {{0, "pipe:[7]"}, {1, touch("job.out")}}, {"mpirun", "-n", "1", "t"});
  put_rank(0, "pipe:[7]", 50);

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].shared);
  CHECK_FALSE(found.targets[0].rank.has_value());
  CHECK(found.targets[0].holders.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Pipes: a reader of which nobody knows what it does is named") {
  put_rank(0, "pipe:[7]");
  put_reader(60, "python3", {{0, "pipe:[7]"}, {1, touch("its.log")}, {5, touch("db.bin")}});

  const Discovered found = scan();

  CHECK(found.targets.empty());
  REQUIRE(found.not_captured.size() == 2);
  CHECK(found.not_captured[0].reason == "pipe, read by python3");
  CHECK(found.processes.at(0).not_captured.at("stdout") == "pipe:[7]");
}

TEST_CASE_FIXTURE(Fixture, "Pipes: one into a terminal, a loop, or nobody's is not captured") {
  put_rank(0, "pipe:[7]");
  std::string reason = "pipe";
  SUBCASE("nobody reads") {}
  SUBCASE("a terminal") {
    put_reader(60, "cat", {{0, "pipe:[7]"}, {1, "/dev/pts/9999"}});
    reason = "pipe, read by cat";
  }
  SUBCASE("a loop of pipes") {
    put_reader(60, "cat", {{0, "pipe:[7]"}, {1, "pipe:[8]"}});
    put_reader(61, "cat", {{0, "pipe:[8]"}, {1, "pipe:[7]"}});
    reason = "pipe, read by cat";
  }
  const Discovered found = scan();

  CHECK(found.targets.empty());
  REQUIRE(found.not_captured.size() == 2);
  CHECK(found.not_captured[0].reason == reason);
}

TEST_CASE_FIXTURE(Fixture, "Pipes: a reader that comes later is found") {
  put_rank(0, "pipe:[7]");
  CHECK(scan().targets.empty());
  put_reader(60, "tee", {{0, "pipe:[7]"}, {3, touch("run.log")}});
  now += PipeReaders::kRetry;

  CHECK(scan().targets.size() == 1);
}

}  // namespace
}  // namespace logarithm::agent
