#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// When is a gap told at a copytruncate? One thread: what happens between two steps is certain.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// A busy file, watched; `app.log.1` was just created beside it.
struct Rotation : FollowFixture {
  explicit Rotation(int flags = O_APPEND, int looks = 400) {
    options.inotify = true;
    options.poll = seconds(1);
    glob("app.log");
    run(milliseconds(10));  // the agent was there before the file
    append("app.log", "");
    fd = ::open(path("app.log").c_str(), O_WRONLY | O_CLOEXEC | flags);
    write(1);
    glob("app.log");
    run(milliseconds(10));
    // 2,000 lines a second.
    for (int i = 0; i < looks; ++i) {
      write(20);
      run(milliseconds(10));
    }
  }
  ~Rotation() { ::close(fd); }

  void write(int lines) {
    for (int i = 0; i < lines; ++i) {
      const std::string text = numbered(number++, 1);
      CHECK(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
  }
  void begin() {
    copy("app.log", "app.log.1");
    step();
    for (int i = 0; i < 5; ++i) {
      write(1);
      step();
    }
  }
  // After the cut.
  void finish(int lines) {
    write(lines);
    glob("app.log");
    run();
    write(lines);
    run(seconds(2));
    run(seconds(3));
  }

  int fd = -1;
  int number = 0;
};

}  // namespace

TEST_CASE("Copytruncate: no gap when everything was read before the cut, however busy the file") {
  for (const int after : {0, 1, 7}) {
    CAPTURE(after);
    Rotation f;
    f.begin();
    f.cut("app.log");
    f.write(after);
    f.step();
    f.finish(3);

    CHECK(f.texts().size() == static_cast<std::size_t>(f.number));
    CHECK(f.gaps().empty());
    CHECK(f.log.problems.empty());
  }
}

TEST_CASE("Copytruncate: a gap when a line was written after the last read") {
  for (const int after : {0, 1, 7}) {
    CAPTURE(after);
    Rotation f;
    f.begin();
    f.write(1);
    f.cut("app.log");
    f.write(after);
    f.step();
    f.finish(3);

    CHECK(f.texts().size() == static_cast<std::size_t>(f.number - 1));
    CHECK(f.gaps().size() == 1);
  }
}

TEST_CASE("Copytruncate: the first rotation is understood when it is over before it was seen") {
  for (const int looks : {2, 40, 400}) {  // 10 ms each, since the file was found
    for (const int lost : {0, 1, 3}) {
      for (const int after : {0, 1, 7}) {
        CAPTURE(looks);
        CAPTURE(lost);
        CAPTURE(after);
        Rotation f(O_APPEND, looks);
        f.copy("app.log", "app.log.1");
        f.write(lost);
        f.cut("app.log");
        f.write(after);
        f.run(milliseconds(10));
        f.finish(3);

        CHECK(f.texts().size() == static_cast<std::size_t>(f.number - lost));
        CHECK(f.gaps().size() == (lost > 0 ? 1 : 0));
      }
    }
  }
}

TEST_CASE("Copytruncate: beside a busy file writes are not counted, and the estimate tells") {
  for (const bool busy : {false, true}) {
    CAPTURE(busy);
    Rotation f;
    f.append("app.busy", "0\n");
    f.glob("app.");
    for (int i = 0; i < 60; ++i) {
      f.write(200);
      if (busy) f.append("app.busy", numbered(i * 1000, 1000));
      f.run(milliseconds(100));
    }
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
    f.run();
    f.finish(3);
    CHECK(f.gaps().size() == (busy ? 1 : 0));
  }
}

TEST_CASE("Copytruncate: no gap when the copy has what was not read") {
  Rotation f;
  f.begin();
  f.write(4);
  f.copy("app.log", "app.log.1");
  f.cut("app.log");
  f.step();
  f.finish(3);

  CHECK(f.texts().size() == static_cast<std::size_t>(f.number));
  CHECK(f.gaps().empty());
}

TEST_CASE("Copytruncate: the hole of a writer that does not append tells the old end exactly") {
  for (const bool counted : {true, false}) {
    for (const int lost : {0, 3}) {
      for (const int after : {0, 2}) {
        CAPTURE(counted);
        CAPTURE(lost);
        CAPTURE(after);
        Rotation f(0);
        if (counted) f.begin();
        f.write(lost);
        if (!counted) f.copy("app.log", "app.log.1");
        if (!counted && lost > 0) f.write(lost);
        f.cut("app.log");
        f.write(after);
        f.run();
        f.finish(3);

        CHECK(f.texts().size() == static_cast<std::size_t>(f.number - lost));
        if (lost == 0) CHECK(f.gaps().empty());
        if (lost > 0) {
          REQUIRE(f.gaps().size() == 1);
          CHECK(f.gaps()[0].to.value_or(0) - f.gaps()[0].from ==
                numbered(f.number - 6 - after - lost, lost).size());
        }
      }
    }
  }
}

TEST_CASE("Copytruncate: a rotation that nobody saw begin is told as a gap of a busy file only") {
  Rotation f;
  f.options.inotify = false;
  f.kill();
  f.glob("app.log");
  f.run();
  for (int i = 0; i < 40; ++i) {
    f.write(200);
    f.run(milliseconds(100));
  }
  f.cut("app.log");
  f.clock.advance(milliseconds(50));
  f.run();
  f.finish(3);
  CHECK(f.gaps().size() == 1);
}

}  // namespace logarithm::test
