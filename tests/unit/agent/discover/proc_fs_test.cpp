#include "agent/discover/proc_fs.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "common/async/worker_pool.h"
#include "tests/support/fake_proc.h"

namespace logarithm::agent {
namespace {

using test::FakeProc;

struct Fixture {
  FakeProc proc;
  test::TempDir dir;
  WorkerPool pool{1};

  FdInfo fd_of(const ProcFs& fs, std::int32_t pid, int number) {
    return pool.run_and_wait([&](BlockingToken& token) { return fs.fd(token, pid, number); });
  }
};

TEST_CASE_FIXTURE(Fixture, "ProcFs: a name with brackets and blanks does not shift the fields") {
  proc.put({.pid = 7, .parent = 3, .start_ticks = 4242, .name = "a) R 9 (b"});
  const ProcFs fs(proc.root());

  const auto stat = pool.run_and_wait([&](BlockingToken& token) { return fs.stat(token, 7); });

  REQUIRE(stat.ok());
  CHECK(stat->parent == 3);
  CHECK(stat->state == 'S');
  CHECK(stat->start_ticks == 4242);
  CHECK(stat->name == "a) R 9 (b");
}

TEST_CASE_FIXTURE(Fixture, "ProcFs: a damaged stat is an error, not a guess") {
  proc.put({.pid = 7});
  for (const char* text : {"", "7 (x", "7 (x) S 1 2", "7 (x) S one 2 3 4"}) {
    CAPTURE(text);
    proc.write("7/stat", text);
    const ProcFs fs(proc.root());
    CHECK_FALSE(pool.run_and_wait([&](BlockingToken& token) { return fs.stat(token, 7); }).ok());
  }
}

TEST_CASE_FIXTURE(Fixture, "ProcFs: descriptors are told apart by what they lead to") {
  std::ofstream(dir.file("out.log")) << "text\n";
  proc.put({.pid = 7,
            .fds = {{0, "/dev/null"},
                    {1, dir.file("out.log")},
                    {2, "pipe:[77]"},
                    {3, "socket:[78]"},
                    {4, "/dev/pts/9999"},
                    {5, dir.path()},
                    {6, "/gone/x.log (deleted)"}}});
  const ProcFs fs(proc.root());

  CHECK(fd_of(fs, 7, 0).kind == FdKind::null_device);
  CHECK(fd_of(fs, 7, 1).kind == FdKind::regular);
  CHECK(fd_of(fs, 7, 1).file.size == 5);
  CHECK_FALSE(fd_of(fs, 7, 1).deleted);
  CHECK(fd_of(fs, 7, 2).kind == FdKind::pipe);
  CHECK(fd_of(fs, 7, 3).kind == FdKind::socket);
  CHECK(fd_of(fs, 7, 4).kind == FdKind::tty);
  CHECK(fd_of(fs, 7, 5).kind == FdKind::directory);
  CHECK(fd_of(fs, 7, 9).kind == FdKind::closed);
  CHECK_FALSE(fs.is_live());
}

TEST_CASE_FIXTURE(Fixture, "ProcFs: on the live root a deleted file and a pipe are recognised") {
  const ProcFs fs("/proc");
  REQUIRE(fs.is_live());
  const int file = ::open(dir.file("x.log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int reader = ::open(dir.file("x.log").c_str(), O_RDONLY | O_CLOEXEC);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);

  CHECK(fd_of(fs, ::getpid(), file).link == dir.file("x.log"));
  CHECK(fd_of(fs, ::getpid(), file).writable);
  CHECK_FALSE(fd_of(fs, ::getpid(), reader).writable);
  CHECK(fd_of(fs, ::getpid(), ends[0]).kind == FdKind::pipe);
  REQUIRE(::unlink(dir.file("x.log").c_str()) == 0);
  CHECK(fd_of(fs, ::getpid(), file).deleted);
  CHECK(fd_of(fs, ::getpid(), file).link == dir.file("x.log"));

  for (const int fd : {file, reader, ends[0], ends[1]}) ::close(fd);
}

TEST_CASE_FIXTURE(Fixture, "ProcFs: the boot time is btime on a made-up root, and exact on ours") {
  const ProcFs made_up(proc.root());
  const ProcFs live("/proc");
  pool.run_and_wait([&](BlockingToken& token) {
    const auto boot = made_up.boot_time(token);
    REQUIRE(boot.ok());
    CHECK(boot->at == FakeProc::kBoot);
    CHECK(boot->error == 1'000'000'000);
    CHECK(made_up.last_pid(token) == 1);
    const auto first = live.boot_time(token);
    const auto second = live.boot_time(token);
    REQUIRE(first.ok());
    CHECK(first->at == second->at);
    CHECK(first->error <= 1'000'000'000);
    return 0;
  });
}

}  // namespace
}  // namespace logarithm::agent
