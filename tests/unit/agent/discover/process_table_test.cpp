#include "agent/discover/process_table.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "common/async/worker_pool.h"
#include "tests/support/fake_proc.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

using test::FakeProc;
using Variables = std::map<std::string, std::string>;

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kStart = FakeProc::kBoot + 100 * kSecond;

Variables worker(int rank, const std::string& job = "llm") {
  return {{"TORCHELASTIC_RUN_ID", job},
          {"RANK", std::to_string(rank)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"WORLD_SIZE", "4"}};
}

struct Fixture {
  FakeProc proc;
  ProcFs fs{proc.root()};
  ProcessTable table{fs, "host1", 0};
  WorkerPool pool{1};
  UnixNanos now = kStart;

  void scan(UnixNanos at) {
    now = at;
    REQUIRE(pool.run_and_wait([&](BlockingToken& token) { return table.scan(token, now); }).ok());
  }
  bool hint(UnixNanos at) {
    return pool.run_and_wait([&](BlockingToken& token) { return table.changed_hint(token, at); });
  }
  // The living ranks by number.
  std::map<std::int32_t, const RankProcess*> living() {
    std::map<std::int32_t, const RankProcess*> out;
    for (const auto& [key, rank] : table.ranks()) {
      if (!rank.info.exit && rank.info.rank) out[*rank.info.rank] = &rank;
    }
    return out;
  }
};

TEST_CASE_FIXTURE(Fixture, "Process table: a rank has its start, user, command and identity") {
  proc.put(
      {.pid = 10, .start_ticks = 500, .environment = worker(2), .command = {"python3", "t.py"}});

  scan(kStart);

  REQUIRE(table.ranks().size() == 1);
  const ProcessInfo& info = table.ranks().begin()->second.info;
  CHECK(info.job == "llm");
  CHECK(info.host == "host1");
  CHECK(info.pid == 10);
  CHECK(info.start == FakeProc::kBoot + 5 * kSecond);
  CHECK(info.start_error == kSecond + FakeProc::kTick);
  CHECK(info.last_seen == kStart);
  CHECK(info.rank == 2);
  CHECK(info.world_size == 4);
  CHECK(info.launcher == "torchrun");
  CHECK(info.command == "python3 t.py");
  CHECK(info.user == "root");
  CHECK(info.identity.at("RANK") == "2");
  CHECK_FALSE(info.exit.has_value());
}

TEST_CASE_FIXTURE(Fixture, "Process table: a process and its children of the same rank are one") {
  proc.put({.pid = 10, .environment = worker(0)});
  proc.put({.pid = 11, .parent = 10, .environment = worker(0)});
  proc.put({.pid = 12, .parent = 11, .environment = worker(0)});
  proc.put({.pid = 13, .parent = 1, .environment = worker(1)});

  scan(kStart);

  REQUIRE(living().size() == 2);
  CHECK(living().at(0)->info.pid == 10);
  CHECK(living().at(0)->pids == std::vector<std::int32_t>{10, 11, 12});
  CHECK(living().at(1)->info.pid == 13);
}

TEST_CASE_FIXTURE(Fixture, "Process table: a helper that outlives its rank is no new process") {
  proc.put({.pid = 10, .environment = worker(0)});
  proc.put({.pid = 11, .parent = 10, .start_ticks = 1010, .environment = worker(0)});
  proc.put({.pid = 20, .environment = worker(1)});
  scan(kStart);
  scan(kStart + kSecond);

  proc.remove(10);
  proc.put({.pid = 11, .parent = 1, .start_ticks = 1010, .environment = worker(0)});
  proc.put({.pid = 12, .parent = 1, .start_ticks = 1020, .environment = worker(0)});  // never seen
  scan(kStart + 2 * kSecond);

  CHECK(table.ranks().size() == 2);
  CHECK(living().size() == 1);
  CHECK(living().contains(1));
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: a helper whose parent was never seen is no new process") {
  proc.put({.pid = 5, .parent = 1, .start_ticks = 400});
  proc.put({.pid = 10, .parent = 5, .start_ticks = 500, .environment = worker(2)});
  scan(kStart);
  // Forked by a subshell of 10 that ended between the list and the look at it.
  proc.put({.pid = 12, .parent = 11, .start_ticks = 600, .environment = worker(2)});
  scan(kStart + kSecond);
  CHECK(table.ranks().size() == 1);

  std::int32_t adopted_by = 1;
  SUBCASE("init adopts it") {}
  SUBCASE("a launcher's ancestor adopts it") {
    proc.put({.pid = 3, .parent = 1, .start_ticks = 300});
    proc.put({.pid = 5, .parent = 3, .start_ticks = 400});
    adopted_by = 3;
  }
  proc.put({.pid = 12, .parent = adopted_by, .start_ticks = 600, .environment = worker(2)});
  scan(kStart + 100 * kSecond);

  REQUIRE(table.ranks().size() == 1);
  CHECK(living().at(2)->pids == std::vector<std::int32_t>{10, 12});
}

TEST_CASE_FIXTURE(Fixture, "Process table: a run says how its command ended, by its file only") {
  test::TempDir dir;
  const std::string file = dir.file(".exit-status");
  Variables run = worker(0);
  run["LOGARITHM_RUN_FILES"] = dir.path();
  proc.put({.pid = 10, .environment = run, .command = {"logarithm", "run"}});
  proc.put({.pid = 20, .environment = worker(1)});
  scan(kStart);
  std::optional<std::int32_t> expected;
  SUBCASE("exit 3") {
    std::ofstream(file) << "768\n";
    expected = 768;
  }
  SUBCASE("in order") {
    std::ofstream(file) << "0\n";
    expected = 0;
  }
  SUBCASE("it was killed itself") {}
  SUBCASE("torn") { std::ofstream(file) << "76"; }
  SUBCASE("no number") { std::ofstream(file) << "-1\n"; }
  SUBCASE("too large") { std::ofstream(file) << "99999999\n"; }
  SUBCASE("a pipe that nobody writes") { REQUIRE(::mkfifo(file.c_str(), 0600) == 0); }
  SUBCASE("a link") { REQUIRE(::symlink("/proc/self/stat", file.c_str()) == 0); }
  proc.remove(10);
  proc.remove(20);
  scan(kStart + kSecond);

  for (const auto& [key, rank] : table.ranks()) {
    REQUIRE(rank.info.exit);
    CHECK(rank.info.exit_status == (rank.info.rank == 0 ? expected : std::nullopt));
  }
  CHECK(table.ranks().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "Process table: what a short run leaves behind is no second attempt") {
  Variables run = worker(0);
  run["LOGARITHM_JOB"] = "try1";
  run["LOGARITHM_RUN_FILES"] = "/x";
  proc.put({.pid = 10, .start_ticks = 500, .environment = run, .command = {"logarithm", "run"}});
  scan(kStart);
  proc.remove(10);
  Variables holder = run;
  holder["LOGARITHM_RUN_HOLDER"] = "500";
  SUBCASE("seen beside it") {
    proc.put({.pid = 12, .parent = 1, .start_ticks = 600, .environment = holder});
  }
  SUBCASE("seen after it") {
    scan(kStart + kSecond);
    proc.put({.pid = 12, .parent = 1, .start_ticks = 9'999, .environment = holder});
  }
  scan(kStart + 2 * kSecond);
  CHECK(table.ranks().size() == 1);
  CHECK(living().empty());

  // Nobody saw that run: its holder stands for it.
  holder["LOGARITHM_RUN_HOLDER"] = "700";
  proc.put({.pid = 14, .parent = 1, .start_ticks = 10'500, .environment = holder});
  scan(kStart + 3 * kSecond);
  CHECK(table.ranks().size() == 2);
  CHECK(living().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Process table: a `logarithm run` that has not named its job waits") {
  Variables early = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}};
  const std::vector<std::string> command = {"/usr/bin/logarithm", "run", "--job", "a", "--", "sh"};
  proc.put({.pid = 10, .start_ticks = 9990, .environment = early, .command = command});
  scan(kStart);
  CHECK(table.ranks().empty());
  early["LOGARITHM_JOB"] = "a";
  early["LOGARITHM_RUN_FILES"] = "/x";
  proc.put({.pid = 10, .start_ticks = 9990, .environment = early, .command = command});
  scan(kStart + kSecond);
  REQUIRE(table.ranks().size() == 1);
  CHECK(table.ranks().begin()->second.info.job == "a");
}

TEST_CASE_FIXTURE(Fixture, "Process table: a relaunch beside the dying rank is a new process") {
  proc.put({.pid = 5, .parent = 1, .start_ticks = 400});
  proc.put({.pid = 10, .parent = 5, .start_ticks = 500, .environment = worker(2)});
  scan(kStart);
  std::int32_t launcher = 5;
  SUBCASE("by the same launcher") {}
  SUBCASE("by another one") {
    proc.put({.pid = 20, .parent = 1, .start_ticks = 700});
    launcher = 20;
  }
  proc.put({.pid = 21, .parent = launcher, .start_ticks = 800, .environment = worker(2)});
  scan(kStart + kSecond);

  CHECK(table.ranks().size() == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: a rank whose parent stays hidden is found a moment later") {
  proc.put({.pid = 10, .parent = 9, .start_ticks = 500, .environment = worker(2)});
  scan(kStart);
  CHECK(table.ranks().empty());
  scan(kStart + ProcessTable::kParentWait);
  CHECK(table.ranks().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Process table: an exit is bounded by when it was last seen alive") {
  proc.put({.pid = 10, .environment = worker(0)});
  scan(kStart);
  scan(kStart + 3 * kSecond);
  proc.remove(10);
  scan(kStart + 4 * kSecond);

  const ProcessInfo& info = table.ranks().begin()->second.info;
  CHECK(info.exit == kStart + 4 * kSecond);
  CHECK(info.exit_error == kSecond);
  CHECK(info.last_seen == kStart + 3 * kSecond);
}

TEST_CASE_FIXTURE(Fixture, "Process table: a pid that was given away is another process") {
  proc.put({.pid = 10, .start_ticks = 1000, .environment = worker(0)});
  scan(kStart);
  proc.put({.pid = 10, .start_ticks = 10'003, .environment = worker(0)});
  scan(kStart + kSecond / 20);

  REQUIRE(table.ranks().size() == 2);
  CHECK(table.ranks().begin()->second.info.exit.has_value());
  REQUIRE(living().size() == 1);
  CHECK(living().at(0)->info.start == kStart + 3 * FakeProc::kTick);
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: a reused pid of an old process is seen without waiting") {
  proc.put({.pid = 10, .start_ticks = 1});
  proc.set_last_pid(4'000'000);
  scan(kStart);
  scan(kStart + 1);
  proc.put({.pid = 10, .start_ticks = 9000, .environment = worker(0)});
  proc.set_last_pid(10);  // the counter went round

  scan(kStart + 2);

  CHECK(living().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Process table: a zombie has exited") {
  proc.put({.pid = 10, .environment = worker(0)});
  scan(kStart);
  proc.put({.pid = 10, .environment = worker(0), .state = 'Z'});
  scan(kStart + kSecond);

  CHECK(living().empty());
  CHECK(table.ranks().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Process table: an environment that comes with exec is found") {
  std::uint64_t start_ticks = 9990;
  UnixNanos later = kStart + ProcessTable::kMinRecheck;
  SUBCASE("soon, while the process is young") {}
  SUBCASE("in a minute, when it is old") {
    start_ticks = 10;
    later = kStart + ProcessTable::kMaxRecheck;
  }
  proc.put({.pid = 10, .start_ticks = start_ticks, .name = "sh"});
  scan(kStart);
  CHECK(table.ranks().empty());
  proc.put({.pid = 10, .start_ticks = start_ticks, .environment = worker(3)});

  CHECK(hint(later));
  scan(later);

  CHECK(living().contains(3));
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: as long as the stack stays, the environment is not read again") {
  FakeProc::Process process = {.pid = 10, .environment = worker(0)};
  process.image = 0x7ffd0000;
  proc.put(process);
  scan(kStart);
  CHECK(living().contains(0));
  process.environment = worker(1);  // cannot change without exec
  proc.put(process);
  scan(kStart + ProcessTable::kMaxRecheck);
  CHECK(living().contains(0));

  process.image = 0x7ffe0000;
  proc.put(process);
  scan(kStart + 3 * ProcessTable::kMaxRecheck);
  CHECK(living().contains(1));
}

TEST_CASE("Process table: checks of many processes fall together, and never later than asked") {
  constexpr UnixNanos kMinute = 60 * kSecond;
  std::set<UnixNanos> times;
  for (int i = 0; i < 1000; ++i) {
    const UnixNanos now = kStart + i * kMinute / 1000;
    const UnixNanos at = grid_time(now, kMinute);
    CHECK(at > now + kMinute / 2);
    CHECK(at <= now + kMinute);
    times.insert(at);
  }
  CHECK(times.size() <= 9);
}

TEST_CASE_FIXTURE(Fixture, "Process table: a pod's number is no rank once workers are below it") {
  const Variables pod = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  proc.put({.pid = 10, .environment = pod, .command = {"bash", "run.sh"}, .name = "bash"});
  scan(kStart);
  CHECK(living().contains(1));

  Variables below = worker(2);
  proc.put({.pid = 12, .parent = 10, .environment = below});
  scan(kStart + kSecond);

  REQUIRE(living().size() == 1);
  CHECK(living().contains(2));
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: torchrun under Slurm is no rank, nor the script above it") {
  const Variables node = {
      {"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}};
  proc.put({.pid = 9, .environment = node, .command = {"bash", "run.sh"}, .name = "bash"});
  proc.put({.pid = 10,
            .parent = 9,
            .environment = node,
            .command = {"/usr/bin/python3", "/usr/bin/torchrun", "t.py"}});
  scan(kStart);
  CHECK(living().empty());

  Variables below = worker(3);
  below.insert(node.begin(), node.end());
  proc.put({.pid = 12, .parent = 10, .environment = below});
  scan(kStart + kSecond);

  REQUIRE(living().size() == 1);
  CHECK(living().at(3)->info.pid == 12);
  CHECK(living().at(3)->info.job == "llm");
}

TEST_CASE_FIXTURE(Fixture, "Process table: a batch script is no task of its own job") {
  proc.put({.pid = 9,
            .environment = {{"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}});
  for (int task = 0; task < 2; ++task) {
    proc.put({.pid = 20 + task,
              .environment = {{"SLURM_JOB_ID", "5"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_PROCID", std::to_string(task)},
                              {"SLURM_NTASKS", "2"}}});
  }

  scan(kStart);

  REQUIRE(living().size() == 2);
  CHECK(living().at(0)->info.pid == 20);
}

TEST_CASE_FIXTURE(Fixture,
                  "Process table: a shell with LOGARITHM_JOB exported is no process of it") {
  const Variables job = {{"LOGARITHM_JOB", "serve"}};
  proc.put({.pid = 10, .environment = job, .command = {"bash"}, .name = "bash"});
  proc.put({.pid = 11, .parent = 10, .environment = job, .command = {"serve"}, .name = "serve"});

  scan(kStart);

  REQUIRE(table.ranks().size() == 1);
  CHECK(table.ranks().begin()->second.info.pid == 11);
  CHECK(table.ranks().begin()->second.info.job == "serve");
}

TEST_CASE_FIXTURE(Fixture, "Process table: without any job variable host, pid and start name it") {
  proc.put({.pid = 10, .start_ticks = 500, .environment = {{"RANK", "0"}}});
  scan(kStart);
  CHECK(table.ranks().begin()->second.info.job ==
        "host1-10-" + std::to_string(FakeProc::kBoot / kSecond + 5));
}

TEST_CASE_FIXTURE(Fixture, "Process table: changes are told once, life signs now and then") {
  proc.put({.pid = 10, .environment = worker(0)});
  scan(kStart);
  CHECK(table.take_changes(now).size() == 1);
  scan(kStart + kSecond);
  CHECK(table.take_changes(now).empty());
  scan(kStart + 20 * kSecond);
  CHECK(table.take_changes(now).size() == 1);
  proc.remove(10);
  scan(kStart + 21 * kSecond);
  const auto last = table.take_changes(now);
  REQUIRE(last.size() == 1);
  CHECK(last[0].exit.has_value());
  CHECK(table.take_changes(now).empty());
}

TEST_CASE_FIXTURE(Fixture, "Process table: an idle system is left alone") {
  proc.put({.pid = 10, .start_ticks = 0});
  proc.set_last_pid(100);
  scan(kStart);
  CHECK_FALSE(hint(kStart + kSecond));
  proc.set_last_pid(101);
  CHECK(hint(kStart + kSecond));
}

TEST_CASE_FIXTURE(Fixture, "Process table: a root that cannot be read is an error") {
  const ProcFs nowhere("/nonexistent-root");
  ProcessTable broken(nowhere, "h", 0);
  CHECK_FALSE(pool.run_and_wait([&](BlockingToken& token) { return broken.scan(token, 1); }).ok());
}

}  // namespace
}  // namespace logarithm::agent
