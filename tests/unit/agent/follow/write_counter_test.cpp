#include "agent/follow/write_counter.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

struct File {
  explicit File(const std::string& path)
      : fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  ~File() { ::close(fd); }
  void write(int times) const {
    for (int i = 0; i < times; ++i) CHECK(::write(fd, "line\n", 5) == 5);
  }
  int fd;
};

TEST_CASE("Write counter: every write and every truncation is one") {
  const test::TempDir dir;
  const std::string path = dir.file("app.log");
  const File file(path), other(dir.file("other.log"));
  file.write(3);
  WriteCounter counter;
  REQUIRE(counter.watch(path));
  CHECK(counter.take().empty());

  file.write(1000);
  other.write(10);
  CHECK(counter.take() == WriteCounter::Counts{{path, 1000}});
  std::filesystem::resize_file(path, 0);
  CHECK(counter.take() == WriteCounter::Counts{{path, 1}});
  const int again = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  ::close(again);
  file.write(1);
  CHECK(counter.take() == WriteCounter::Counts{{path, 2}});

  counter.forget(path);
  CHECK(counter.empty());
  file.write(1);
  CHECK(counter.take().empty());
}

TEST_CASE("Write counter: two files of one directory are told apart") {
  const test::TempDir dir;
  const File a(dir.file("a.log")), b(dir.file("b.log"));
  WriteCounter counter;
  REQUIRE(counter.watch(dir.file("a.log")));
  REQUIRE(counter.watch(dir.file("b.log")));
  a.write(2);
  b.write(3);
  a.write(1);
  CHECK(counter.take() == WriteCounter::Counts{{dir.file("a.log"), 3}, {dir.file("b.log"), 3}});
  counter.forget(dir.file("a.log"));
  b.write(4);
  CHECK(counter.take() == WriteCounter::Counts{{dir.file("b.log"), 4}});
}

TEST_CASE("Write counter: where another directory leads to the file it does not guess") {
  const test::TempDir dir;
  std::filesystem::create_directory(dir.file("real"));
  const File file(dir.file("real/app.log"));
  std::filesystem::create_symlink(dir.file("real/app.log"), dir.file("link.log"));
  WriteCounter counter;
  REQUIRE(counter.watch(dir.file("link.log")));
  file.write(5);
  CHECK(counter.take() == WriteCounter::Counts{{dir.file("link.log"), std::nullopt}});
}

TEST_CASE("Write counter: an overflowing queue voids the count") {
  const test::TempDir dir;
  const File file(dir.file("a.log"));
  WriteCounter counter;
  REQUIRE(counter.watch(dir.file("a.log")));
  file.write(40'000);  // the kernel keeps 16,384 events
  CHECK(counter.take() == WriteCounter::Counts{{dir.file("a.log"), std::nullopt}});
}

TEST_CASE("Write counter: a file that is not there is not counted") {
  const test::TempDir dir;
  WriteCounter counter;
  CHECK_FALSE(counter.watch(dir.file("none.log")));
  CHECK(counter.empty());
  CHECK(counter.take().empty());
}

}  // namespace
}  // namespace logarithm::agent
