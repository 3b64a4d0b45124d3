#include <doctest/doctest.h>

#include "agent/follow/dir_watcher.h"
#include "agent/follow/file_identity.h"
#include "tests/unit/agent/follow/follow_fixture.h"

// An event for each write costs the writer: a directory tells one, and is looked at then.
namespace logarithm::test {
namespace {

using Paths = std::vector<std::string>;

void use_events(FollowFixture& f) {
  f.options.inotify = true;
  f.options.poll = f.options.poll_unwatched = std::chrono::hours(1);
}

// app-0.log and app-1.log, followed by their directory's events.
void follow_two_files(FollowFixture& f) {
  use_events(f);
  f.append("app-0.log", "");
  f.append("app-1.log", "");
  f.glob("app");
  f.run();
}

}  // namespace

TEST_CASE("DirWatcher: a directory tells one write until it is armed, and all that is removed") {
  FollowFixture f;
  DirWatcher watcher(true);
  const std::string directory = directory_of(f.path("a"));
  f.append("a", "1\n");
  f.append("b", "1\n");
  REQUIRE(watcher.watch({directory}));
  CHECK_FALSE(watcher.is_awake(directory));

  f.append("b", "2\n");
  f.append("a", "2\n");

  CHECK(watcher.drain().paths == Paths{f.path("b")});
  CHECK(watcher.is_awake(directory));
  f.append("a", "3\n");
  CHECK(watcher.drain().paths.empty());
  f.remove("b");
  CHECK(watcher.drain().paths == Paths{f.path("b")});

  watcher.arm(directory);

  CHECK_FALSE(watcher.any_awake());
  CHECK(watcher.drain().paths.empty());
  f.append("a", "4\n");
  CHECK(watcher.drain().paths == Paths{f.path("a")});
  REQUIRE(watcher.watch({}));
  CHECK_FALSE(watcher.any_awake());
}

TEST_CASE("Follow: in an awake directory every line of every file comes") {
  FollowFixture f;
  follow_two_files(f);
  for (int i = 0; i < 30; ++i) {
    f.append("app-0.log", numbered(10 * i, 10));
    if (i % 10 == 5) f.append("app-1.log", "of one that is quiet mostly\n");
    f.run();
  }

  CHECK(f.texts().size() == 303);
  CHECK(f.gaps().empty());
}

TEST_CASE("Follow: a directory that was awake sleeps again, and wakes for the next line") {
  FollowFixture f;
  follow_two_files(f);
  std::size_t lines = 0;
  for (const int seconds : {0, 1, 2, 5, 60}) {
    for (int second = 0; second < seconds; ++second) f.run(std::chrono::seconds(1));
    f.append(lines % 2 == 0 ? "app-0.log" : "app-1.log", numbered(static_cast<int>(lines), 1));
    ++lines;
    f.run();
    CHECK(f.texts().size() == lines);
  }
}

TEST_CASE("Follow: of many files in an awake directory the quiet ones wait a few turns") {
  FollowFixture f;
  use_events(f);
  for (int i = 0; i < 100; ++i) f.append("app-" + std::to_string(i) + ".log", "");
  f.glob("app");
  f.run();
  f.append("app-0.log", numbered(0, 5));
  f.run();
  f.append("app-0.log", numbered(5, 5));
  f.append("app-50.log", numbered(0, 1));
  for (int turn = 0; turn < 4; ++turn) f.step();
  f.clock.advance(std::chrono::seconds(1));
  f.run();

  CHECK(f.texts().size() == 11);
}

}  // namespace logarithm::test
