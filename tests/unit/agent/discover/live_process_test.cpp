#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "agent/discover/discovery.h"
#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

UnixNanos wall_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// A real process that waits for its standard input to end: `cat` with a rank.
class Child {
 public:
  Child(const std::string& job, int rank, const std::string& output) {
    int input[2];
    int started[2];
    REQUIRE(::pipe2(input, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(started, O_CLOEXEC) == 0);
    const std::string rank_variable = "RANK=" + std::to_string(rank);
    const std::string job_variable = "LOGARITHM_JOB=" + job;
    const char* environment[] = {job_variable.c_str(), rank_variable.c_str(), "LOCAL_RANK=0",
                                 "WORLD_SIZE=8", nullptr};
    const char* arguments[] = {"cat", nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
      const int out = ::open(output.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      ::dup2(input[0], 0);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::execve("/bin/cat", const_cast<char**>(arguments), const_cast<char**>(environment));
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(started[1]);
    char byte = 0;
    REQUIRE(::read(started[0], &byte, 1) == 0);  // closed by exec: its environment is in place
    ::close(started[0]);
    input_ = input[1];
  }
  ~Child() {
    ::close(input_);
    ::kill(pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
  }

  std::int32_t pid() const { return pid_; }
  void kill() { ::kill(pid_, SIGKILL); }
  void reap() {
    ::waitpid(pid_, nullptr, 0);
    reaped_ = true;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  bool reaped_ = false;
};

struct Fixture {
  test::TempDir dir;
  WorkerPool pool{1};
  std::string job = "live-" + std::to_string(::getpid());
  std::unique_ptr<Discovery> discovery;

  Fixture() {
    DiscoveryOptions options;
    options.host = "host1";
    discovery = std::move(Discovery::make(options)).value();
  }
  Discovered scan() {
    auto found =
        pool.run_and_wait([&](BlockingToken& token) { return discovery->scan(token, wall_now()); });
    REQUIRE(found.ok());
    // Other jobs of this machine are none of ours.
    std::erase_if(found->targets, [&](const FollowTarget& target) { return target.job != job; });
    std::erase_if(found->processes, [&](const ProcessInfo& info) { return info.job != job; });
    return std::move(found).value();
  }
};

TEST_CASE_FIXTURE(Fixture, "Live process: found with its file, its start and its rank") {
  const UnixNanos before = wall_now();
  const Child child(job, 5, dir.file("out.log"));

  const Discovered found = scan();

  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets[0].path == dir.file("out.log"));
  CHECK(found.targets[0].rank == 5);
  CHECK(found.targets[0].aliases == std::vector<std::string>{"stderr"});
  REQUIRE(found.processes.size() == 1);
  const ProcessInfo& info = found.processes[0];
  CHECK(info.pid == child.pid());
  CHECK(info.command == "cat");
  CHECK(info.start >= before - info.start_error);
  CHECK(info.start <= wall_now() + info.start_error);
}

TEST_CASE_FIXTURE(Fixture, "Live process: its pidfd tells the exit, and the target stays") {
  Child child(job, 1, dir.file("out.log"));
  scan();
  const std::vector<int> fds = discovery->exit_fds();
  REQUIRE_FALSE(fds.empty());

  child.kill();
  std::vector<pollfd> polled;
  for (const int fd : fds) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  REQUIRE(::poll(polled.data(), polled.size(), 60'000) > 0);  // not reaped: still in /proc

  CHECK(pool.run_and_wait(
      [&](BlockingToken& token) { return discovery->changed_hint(token, wall_now()); }));
  const Discovered found = scan();
  REQUIRE(found.processes.size() == 1);
  REQUIRE(found.processes[0].exit.has_value());
  CHECK(*found.processes[0].exit <= wall_now());
  const ProcessInfo& info = found.processes[0];
  CHECK(*info.exit - info.exit_error >= info.start - info.start_error);
  CHECK(found.targets.size() == 1);
  child.reap();
  CHECK(scan().processes.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "Live process: a deleted file is read through the process, while it lives") {
  Child child(job, 2, dir.file("gone.log"));
  scan();
  std::filesystem::remove(dir.file("gone.log"));

  const Discovered found = pool.run_and_wait([&](BlockingToken& token) {
    return std::move(discovery->scan(token, wall_now() + 60'000'000'000)).value();
  });

  const auto target = std::find_if(found.targets.begin(), found.targets.end(),
                                   [&](const FollowTarget& one) { return one.job == job; });
  REQUIRE(target != found.targets.end());
  CHECK(target->path == dir.file("gone.log"));
  CHECK(target->open_path == "/proc/" + std::to_string(child.pid()) + "/fd/1");
}

}  // namespace
}  // namespace logarithm::agent
