#include "agent/discover/discovery.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

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
  DiscoveryOptions options;
  std::unique_ptr<Discovery> discovery;
  UnixNanos now = 0;  // a minute after the files are made, so that none counts as fresh

  Fixture() {
    options.proc_root = proc.root();
    options.host = "host1";
    now = modified(dir.path()) + 60 * kSecond;
  }
  static UnixNanos modified(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  }
  std::string touch(const std::string& name, const std::string& bytes = "line\n") {
    std::filesystem::create_directories(std::filesystem::path(dir.file(name)).parent_path());
    std::ofstream(dir.file(name), std::ios::binary) << bytes;
    return dir.file(name);
  }
  Discovered scan() {
    if (!discovery) {
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
  FakeProc::Process rank(int number, std::map<int, std::string> fds) {
    return {.pid = 100 + number,
            .environment = {{"TORCHELASTIC_RUN_ID", "llm"},
                            {"RANK", std::to_string(number)},
                            {"LOCAL_RANK", std::to_string(number)},
                            {"WORLD_SIZE", "4"},
                            {"TZ", "JST-9"}},
            .fds = std::move(fds)};
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "Discovery: stdout and stderr of a rank are followed when they are files") {
  proc.put(rank(2, {{1, touch("a.log")}, {2, touch("b.log")}}));

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 2);
  const FollowTarget& out = found.targets[0];
  CHECK(out.path == dir.file("a.log"));
  CHECK(out.open_path == out.path);
  CHECK(out.name == "stdout");
  CHECK(out.job == "llm");
  CHECK(out.rank == 2);
  CHECK(out.local_rank == 2);
  CHECK(out.rank_source == "RANK");
  CHECK(out.host == "host1");
  CHECK(out.utc_offset_minutes == 540);
  CHECK_FALSE(out.attempt.has_value());
  CHECK(out.process == found.processes.at(0).key());
  CHECK(found.targets[1].name == "stderr");
  CHECK(found.not_captured.empty());
}

TEST_CASE_FIXTURE(Fixture, "Discovery: 2>&1 is one target, stdout alias stderr") {
  const std::string file = touch("a.log");
  proc.put(rank(0, {{1, file}, {2, file}}));

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].name == "stdout");
  CHECK(found.targets[0].aliases == std::vector<std::string>{"stderr"});
  CHECK(found.targets[0].rank == 0);
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a file that several ranks write has no rank") {
  const std::string file = touch("all.log");
  proc.put(rank(0, {{1, file}}));
  proc.put(rank(1, {{1, file}}));
  CHECK(scan().targets.size() == 1);

  SUBCASE("while they live") {}
  SUBCASE("also when one of them ended first") { proc.remove(100); }
  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].shared);
  CHECK_FALSE(found.targets[0].rank.has_value());
  CHECK(found.targets[0].process.empty());
  CHECK(found.targets[0].job == "llm");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a requeue that appends to the file takes it over") {
  const std::string file = touch("rank.log");
  proc.put(rank(0, {{1, file}}));
  const std::string first = scan().targets.at(0).process;
  proc.remove(100);
  scan();

  FakeProc::Process again = rank(1, {{1, file}});  // another rank this time
  again.start_ticks = static_cast<std::uint64_t>((now - FakeProc::kBoot) / FakeProc::kTick) + 500;
  now += 10 * kSecond;
  proc.put(again);
  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK_FALSE(found.targets[0].shared);
  CHECK(found.targets[0].rank == 1);
  CHECK(found.targets[0].process != first);
}

TEST_CASE_FIXTURE(Fixture, "Discovery: what cannot be captured is listed with its reason") {
  proc.put(rank(1, {{1, "pipe:[7]"}, {2, "/dev/pts/9999"}}));

  Discovered found = scan();

  CHECK(found.targets.empty());
  REQUIRE(found.not_captured.size() == 2);
  CHECK(found.not_captured[0].what == "process host1/101 stderr");
  CHECK(found.not_captured[0].reason == "tty");
  CHECK(found.not_captured[1].reason == "pipe");
  CHECK(found.not_captured[1].job == "llm");
  CHECK(found.processes.at(0).not_captured.at("stdout") == "pipe:[7]");

  proc.remove(101);
  found = scan();
  CHECK(found.not_captured.empty());
}

TEST_CASE_FIXTURE(Fixture, "Discovery: the redirected child of a rank speaks for the rank") {
  FakeProc::Process wrapper = rank(3, {{1, "pipe:[7]"}, {2, "pipe:[8]"}});
  FakeProc::Process child = rank(3, {{1, touch("mine.log")}, {2, "pipe:[8]"}});
  child.pid = 200;
  child.parent = wrapper.pid;
  proc.put(wrapper);
  proc.put(child);

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].rank == 3);
  CHECK(found.processes.at(0).pid == 103);
  REQUIRE(found.not_captured.size() == 1);
  CHECK(found.not_captured[0].what == "process host1/103 stderr");
}

TEST_CASE_FIXTURE(Fixture,
                  "Discovery: what a rank left behind has the output that nobody looked at") {
  proc.put(rank(0, {{1, "pipe:[7]"}, {2, "pipe:[8]"}}));  // as it was before it opened its files
  scan();
  proc.remove(100);
  FakeProc::Process left = rank(0, {{1, touch("out.log")}, {2, touch("err.log")}});
  left.pid = 200;
  proc.put(left);

  const auto targets = scan().targets;

  REQUIRE(targets.size() == 2);
  CHECK(targets[0].name == "stdout");
  CHECK(targets[0].job == "llm");
  CHECK(targets[0].rank == 0);
  CHECK(targets[0].process == targets[1].process);
  CHECK(targets[1].name == "stderr");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: what a rank left behind gets no file of the next run") {
  const std::string file = touch("out.log");
  FakeProc::Process old = rank(0, {{1, file}});
  FakeProc::Process helper = old;
  helper.pid = 200;
  helper.parent = old.pid;
  proc.put(old);
  proc.put(helper);
  scan();
  proc.remove(old.pid);
  helper.parent = 1;
  proc.put(helper);
  scan();
  FakeProc::Process next = rank(0, {{1, file}});
  next.pid = 300;
  next.start_ticks = static_cast<std::uint64_t>((now - FakeProc::kBoot) / FakeProc::kTick) + 50;
  proc.put(next);
  FakeProc::Process second = helper;  // so that its members are looked at anew
  second.pid = 201;
  proc.put(second);

  const auto targets = scan().targets;

  REQUIRE(targets.size() == 1);
  CHECK_FALSE(targets[0].shared);
  CHECK(targets[0].process.find("300") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a target outlives its process, not its file") {
  const std::string file = touch("a.log");
  proc.put(rank(0, {{1, file}}));
  const auto before = scan().targets;
  proc.remove(100);

  CHECK(scan().targets == before);
  std::filesystem::remove(file);
  scan();
  CHECK(scan().targets.empty());
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a rank that died unseen is found beside its siblings") {
  for (const int number : {0, 2, 3}) {
    proc.put(rank(number, {{1, touch("out-" + std::to_string(number) + ".log")},
                           {2, touch("err-" + std::to_string(number) + ".log")}}));
  }
  touch("out-1.log");
  touch("err-1.log");

  CHECK(scan().targets.size() == 6);
  now += 5 * kSecond;
  const Discovered found = scan();

  REQUIRE(found.targets.size() == 8);
  const FollowTarget& err = found.targets[6];
  CHECK(err.path == dir.file("err-1.log"));
  CHECK(err.name == "stderr");
  CHECK(err.rank == 1);
  CHECK(err.rank_source == "path");
  CHECK(err.job == "llm");
  CHECK(err.process.empty());
  CHECK(found.targets[7].name == "stdout");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: case 61: a clock that is set back stops no look at a rank") {
  const std::string out = touch("out.log"), more = touch("more.log");
  proc.put(rank(0, {{1, out}}));
  scan();
  now += 7200 * kSecond;
  REQUIRE(scan().targets.size() == 1);
  proc.put(rank(0, {{1, more}}));

  now -= 3600 * kSecond;

  CHECK(
      pool.run_and_wait([&](BlockingToken& token) { return discovery->changed_hint(token, now); }));
  CHECK(scan().targets.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a sibling that turns out to have a process gets it") {
  proc.put(rank(0, {{1, touch("out-0.log")}}));
  touch("out-1.log");
  scan();
  now += 5 * kSecond;
  CHECK(scan().targets.size() == 2);

  proc.put(rank(1, {{1, dir.file("out-1.log")}}));
  const Discovered found = scan();

  REQUIRE(found.targets.size() == 2);
  CHECK_FALSE(found.targets[1].process.empty());
  CHECK(found.targets[1].rank_source == "RANK");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: configured globs give attributes by the user's expression") {
  options.files = {{.glob = dir.file("**/*.out"),
                    .job = "run7",
                    .path = R"(rank-(?P<rank>\d+)\.(?P<stream>out)$)"},
                   {.glob = dir.file("host/*.log"), .job = "", .path = ""}};
  touch("x/rank-3.out");
  touch("host/agent.log");
  touch("x/other.out");

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 3);
  const auto target = [&](const std::string& name) {
    const auto at =
        std::find_if(found.targets.begin(), found.targets.end(),
                     [&](const FollowTarget& one) { return one.path == dir.file(name); });
    REQUIRE(at != found.targets.end());
    return *at;
  };
  const FollowTarget named = target("x/rank-3.out"), host = target("host/agent.log");
  CHECK(named.job == "run7");
  CHECK(named.rank == 3);
  CHECK(named.name == "stdout");
  CHECK(named.rank_source == "path");
  CHECK(host.job == "_host");
  CHECK(host.name == dir.file("host/agent.log"));
  CHECK(!target("x/other.out").rank);
  REQUIRE(found.not_captured.size() == 1);
  CHECK(found.not_captured[0].what == dir.file("x/other.out"));
  CHECK(found.not_captured[0].reason.find("does not match `path`") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "Discovery: a stated job of the file is the process's, but for LOGARITHM_JOB") {
  options.files = {{.glob = dir.file("*.log"), .job = "stated", .path = ""}};
  FakeProc::Process process = rank(0, {{1, touch("a.log")}});
  std::string expected = "stated";
  SUBCASE("torchrun's id yields") {}
  SUBCASE("the user's own word does not") {
    process.environment["LOGARITHM_JOB"] = "mine";
    expected = "mine";
  }
  proc.put(process);

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].job == expected);
  CHECK(found.processes.at(0).job == expected);
  CHECK_FALSE(found.targets[0].process.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "Discovery: a file held open for writing belongs to the process, if configured") {
  options.files = {{.glob = dir.file("extra/*.log"), .job = "", .path = ""}};
  proc.put(rank(1, {{1, "pipe:[1]"},
                    {2, "pipe:[1]"},
                    {7, touch("extra/metrics.log")},
                    {8, touch("model.bin")}}));

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].name == dir.file("extra/metrics.log"));
  CHECK(found.targets[0].rank == 1);
  CHECK(found.targets[0].job == "llm");
  CHECK(found.targets[0].process == found.processes.at(0).key());
}

TEST_CASE_FIXTURE(Fixture, "Discovery: names of one file are one target, the real name first") {
  touch("z.log");
  std::filesystem::create_symlink(dir.file("z.log"), dir.file("a.log"));
  std::filesystem::create_hard_link(dir.file("z.log"), dir.file("zz.log"));
  options.files = {{.glob = dir.file("*.log"), .job = "j", .path = ""}};

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("z.log"));
  CHECK(found.targets[0].aliases.size() == 2);
}

TEST_CASE_FIXTURE(
    Fixture, "Discovery: case 17, compressed files and pipes under a glob are left and listed") {
  touch("a.log.gz", std::string("\x1f\x8b\x08\0\0\0\0", 7));
  REQUIRE(::mkfifo(dir.file("p.log").c_str(), 0600) == 0);
  options.files = {{.glob = dir.file("*"), .job = "j", .path = ""}};

  const Discovered found = scan();

  CHECK(found.targets.empty());
  REQUIRE(found.not_captured.size() == 2);
  CHECK(found.not_captured[0].what == dir.file("a.log.gz"));
  CHECK(found.not_captured[0].reason == "compressed");
  CHECK(found.not_captured[1].reason == "not a regular file");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: case 29, files in our own directories are never followed") {
  touch("state/spool.log");
  options.files = {{.glob = dir.file("**/*.log"), .job = "j", .path = ""}};
  options.exclude = {dir.file("state/")};

  const Discovered found = scan();

  CHECK(found.targets.empty());
  CHECK(found.not_captured.at(0).reason == "the agent's own file");
}

TEST_CASE_FIXTURE(
    Fixture, "Discovery: case 29, the agent's own output is left by its inode, under any name") {
  const std::string log = touch("agent.log");
  options.files = {{.glob = dir.file("*"), .job = "j", .path = ""}};
  const int kept = ::dup(STDERR_FILENO);
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  REQUIRE(file >= 0);
  ::dup2(file, STDERR_FILENO);
  scan();  // the discovery is made here, with this stderr
  ::dup2(kept, STDERR_FILENO);
  ::close(file);
  ::close(kept);
  std::filesystem::rename(log, dir.file("renamed.txt"));
  touch("other.txt");

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("other.txt"));
  REQUIRE(found.not_captured.size() == 1);
  CHECK(found.not_captured[0].what == dir.file("renamed.txt"));
  CHECK(found.not_captured[0].reason == "the agent's own file");
}

TEST_CASE_FIXTURE(Fixture, "Discovery: an empty new file waits a moment for its process") {
  touch("new.log", "");
  options.files = {{.glob = dir.file("*.log"), .job = "j", .path = ""}};
  now = modified(dir.file("new.log")) - kSecond + 1;

  CHECK(scan().targets.empty());
  now += 2 * kSecond;
  CHECK(scan().targets.size() == 1);
}

TEST_CASE_FIXTURE(
    Fixture,
    "Discovery: case 56: a file that waited empty and was then written and unlinked is "
    "followed by its descriptor") {
  touch("new.log", "");
  touch("never.log", "");
  options.files = {{.glob = dir.file("*.log"), .job = "j", .path = ""}};
  now = modified(dir.file("never.log")) - kSecond + 1;
  CHECK(scan().targets.empty());

  touch("new.log", "all that it ever said\n");
  std::filesystem::remove(dir.file("new.log"));
  std::filesystem::remove(dir.file("never.log"));
  const Discovered found = scan();
  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("new.log"));
  CHECK(found.targets[0].job == "j");
  std::ifstream file(found.targets[0].open_path);
  std::string line;
  CHECK(static_cast<bool>(std::getline(file, line)));
  CHECK(line == "all that it ever said");
  // It is given once: who follows it has it open by then.
  CHECK(scan().targets.empty());
}

TEST_CASE_FIXTURE(Fixture, "Discovery: GPUs are known by the devices a process holds") {
  proc.write("driver/nvidia/gpus/0000:3b:00.0/information",
             "Model: \t\t H100\nGPU UUID: \t GPU-11\nDevice Minor: \t 3\n");
  proc.put(
      rank(0, {{1, "pipe:[1]"}, {5, "/dev/nvidia3"}, {6, "/dev/nvidiactl"}, {7, "/dev/nvidia4"}}));

  const Discovered found = scan();

  REQUIRE(found.processes.at(0).gpus.size() == 2);
  CHECK(found.processes[0].gpus[0] == Gpu{.index = 3, .uuid = "GPU-11", .pci = "0000:3b:00"});
  CHECK(found.processes[0].gpus[1].index == 4);
}

TEST_CASE_FIXTURE(Fixture, "Discovery: a broken expression is refused when it is made") {
  options.files = {{.glob = "/x", .job = "", .path = "("}};
  CHECK_FALSE(Discovery::make(options).ok());
}

TEST_CASE_FIXTURE(Fixture,
                  "Discovery: the hint is quiet while nothing happens, and never for long") {
  proc.set_last_pid(5000);
  touch("a.log");
  options.files = {{.glob = dir.file("*.log"), .job = "j", .path = ""}};
  scan();
  const auto hint = [&](UnixNanos at) {
    return pool.run_and_wait(
        [&](BlockingToken& token) { return discovery->changed_hint(token, at); });
  };
  CHECK_FALSE(hint(now + kSecond));
  CHECK(hint(now + Discovery::kMaxPause));
  CHECK(hint(now - kSecond));
  touch("b.log");
  CHECK(hint(now + kSecond));
  scan();
  proc.set_last_pid(5001);
  CHECK(hint(now + kSecond));
}

}  // namespace
}  // namespace logarithm::agent
