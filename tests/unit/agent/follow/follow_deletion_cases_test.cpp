#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md A: deletion.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("case 16: renamed, compressed and removed: drained, then closed as deleted") {
  FollowFixture f;
  f.append("app.log", numbered(0, 10));
  f.glob("app.log");
  f.run();
  f.append("app.log", numbered(10, 10));
  f.rename("app.log", "app.log.1");
  f.append("app.log", numbered(20, 10));
  f.remove("app.log.1");
  f.run();
  CHECK(f.texts().size() == 30);
  f.run(seconds(6));

  std::vector<std::string> reasons;
  for (const auto* stream : f.streams()) {
    if (stream->checkpoint.closed) reasons.push_back(stream->checkpoint.close_reason);
  }
  CHECK(reasons == std::vector<std::string>{"deleted"});
  CHECK(f.gaps().empty());
}

TEST_CASE("case 16: what a writer of which nothing is known writes after the removal is read") {
  for (const bool removed : {true, false}) {  // or renamed out of sight
    CAPTURE(removed);
    FollowFixture f;
    f.append("app.log", numbered(0, 10));
    f.glob("app.log");
    f.run();
    const int writer = ::open(f.path("app.log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const int reader = ::open(f.path("app.log").c_str(), O_RDONLY | O_CLOEXEC);
    if (removed) f.remove("app.log");
    if (!removed) f.rename("app.log", "elsewhere");
    f.glob("app.log");
    for (int minute = 0; minute < 20; ++minute) f.run(seconds(60));
    CHECK_FALSE(f.streams()[0]->checkpoint.closed);
    const std::string more = numbered(10, 5);
    REQUIRE(::write(writer, more.data(), more.size()) == static_cast<ssize_t>(more.size()));
    f.run();
    ::close(writer);
    f.run(seconds(3));
    CHECK_FALSE(f.streams()[0]->checkpoint.closed);
    f.run(seconds(61));  // a file that was held is looked for again after a minute
    f.run(seconds(61));
    ::close(reader);

    CHECK(f.texts().size() == 15);
    REQUIRE(f.streams().size() == 1);
    CHECK(f.streams()[0]->checkpoint.close_reason == (removed ? "deleted" : "rotated"));
    CHECK(f.gaps().empty());
  }
}

TEST_CASE("case 23: a deleted file that somebody keeps open is given up at its age, with a gap") {
  FollowFixture f;
  f.append("a.log", numbered(0, 10));
  f.glob("a");
  f.run();
  const int keeper = ::open(f.path("a.log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  f.remove("a.log");
  f.glob("a");
  for (int minute = 0; minute < 59; ++minute) f.run(seconds(60));
  CHECK_FALSE(f.streams()[0]->checkpoint.closed);
  f.run(seconds(70));
  f.run(seconds(70));
  ::close(keeper);

  CHECK(f.streams()[0]->checkpoint.close_reason == "deleted");
  CHECK(f.follower().stats().abandoned == 1);
  REQUIRE(f.gaps().size() == 1);
  CHECK_FALSE(f.gaps()[0].to.has_value());
}

TEST_CASE("case 19: remove and recreate, 300 times") {
  FollowFixture f;
  f.append("f", "");
  f.glob("f");
  for (int i = 0; i < 300; ++i) {
    f.append("f", numbered(i, 1));
    f.step();
    f.remove("f");
    if (i % 3 == 0) f.step();
    f.clock.advance(milliseconds(20));
  }
  f.append("f", numbered(300, 1));
  f.run();

  CHECK(f.texts().size() == 301);
  CHECK(all_different(f.texts()));
  CHECK(f.follower().lag().size() < 280);  // the deleted ones are given up after rotate_wait
}

TEST_CASE("case 20: a name that still leads to a removed file is told once, and read on") {
  FollowFixture f;
  f.append("x.log", numbered(0, 10));
  f.glob("x.log");
  f.run();
  CHECK(f.follower().stats().stale_names == 0);

  // The file behind a bind mount was removed on the host: the mounted name shows the old inode.
  f.fs.links = 0;
  f.append("x.log", numbered(10, 5));
  for (int i = 0; i < 20; ++i) f.run(milliseconds(1000));

  CHECK(f.texts().size() == 15);
  CHECK(f.follower().stats().stale_names == 1);

  f.append("x.log", numbered(15, 5));
  for (int i = 0; i < 20; ++i) f.run(milliseconds(1000));
  CHECK(f.texts().size() == 20);
  CHECK(f.streams().size() == 1);
  CHECK(f.follower().stats().stale_names == 1);
}

TEST_CASE("case 23: a deleted file is bounded by unread bytes and by age, with a gap") {
  FollowFixture f;
  f.options.deleted_bytes = 1000;
  f.options.step_bytes = f.options.read_bytes = 1024;
  f.append("a.log", numbered(0, 10));
  f.glob("a");
  f.run();
  const int keeper = ::open(f.path("a.log").c_str(), O_WRONLY | O_APPEND);
  f.remove("a.log");
  const std::string much(100'000, 'x');
  REQUIRE(::write(keeper, much.data(), much.size()) == 100'000);
  f.run();
  ::close(keeper);

  CHECK(f.follower().stats().abandoned == 1);
  REQUIRE(f.gaps().size() == 1);
  CHECK(f.gaps()[0].reason == "deleted");
  CHECK(f.gaps()[0].to.has_value());
}

TEST_CASE("case 56: a file that is removed right after its last write is read to its end") {
  FollowFixture f;
  f.append("e.log", "");
  f.glob("e");
  f.run();
  f.append("e.log", numbered(0, 100) + "no newline");
  f.remove("e.log");
  f.run();
  f.run(seconds(6));

  CHECK(f.texts().size() == 101);
}

}  // namespace logarithm::test
