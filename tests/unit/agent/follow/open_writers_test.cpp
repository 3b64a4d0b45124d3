#include "agent/follow/open_writers.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::test {

using agent::OpenWriters;
using std::chrono::seconds;

namespace {

// This process alone, as it is in the real /proc.
struct Asker {
  Asker() {
    const std::string self = std::to_string(::getpid());
    std::filesystem::create_directory_symlink("/proc/" + self, proc.file(self));
    std::filesystem::create_directory(proc.file("1"));  // into which we may not look
  }
  OpenWriters::Answer ask(const std::string& path) {
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    return writers.ask(facts.st_dev, facts.st_ino, now);
  }
  OpenWriters::Answer answer(const std::string& path) {
    static_cast<void>(ask(path));
    for (int i = 0; i < 100 && step(); ++i) {
    }
    return ask(path);
  }
  bool step() {
    return pool.run_and_wait([&](BlockingToken& token) { return writers.step(token, now); });
  }

  TempDir dir, proc;
  WorkerPool pool{1};
  OpenWriters writers{proc.path()};
  MonotonicTime now{seconds(1000)};
};

}  // namespace

TEST_CASE("Open writers: who writes holds a file, who reads does not") {
  Asker f;
  const std::string path = f.dir.file("a.log");
  const int writer = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(f.ask(path) == OpenWriters::Answer::unknown);
  CHECK(f.answer(path) == OpenWriters::Answer::held);
  ::close(writer);
  CHECK(f.answer(path) == OpenWriters::Answer::held);  // not looked for in each turn
  f.now += OpenWriters::kAgain;
  const int reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(f.answer(path) == OpenWriters::Answer::free);
  ::close(reader);
}

TEST_CASE("Open writers: nobody asks, nobody looks; an old `free` is no answer") {
  Asker f;
  CHECK_FALSE(f.step());
  const std::string path = f.dir.file("a.log");
  ::close(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  CHECK(f.answer(path) == OpenWriters::Answer::free);
  CHECK_FALSE(f.step());
  f.now += seconds(11);
  CHECK(f.ask(path) == OpenWriters::Answer::unknown);
  f.now += seconds(60);
  CHECK_FALSE(f.step());  // forgotten
}

TEST_CASE("Open writers: a /proc that is not there holds nothing") {
  Asker f;
  const std::string path = f.dir.file("a.log");
  const int writer = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  f.writers = OpenWriters(f.dir.file("none"));
  CHECK(f.answer(path) == OpenWriters::Answer::free);
  ::close(writer);
}

}  // namespace logarithm::test
