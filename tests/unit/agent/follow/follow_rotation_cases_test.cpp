#include <doctest/doctest.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md A: rotation by renaming.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("case 13: a name that is gone for a moment is found again") {
  FollowFixture f;
  f.append("app.log", numbered(0, 1));
  for (int i = 1; i < 200; ++i) {
    f.glob("app.log");
    f.step();
    f.rename("app.log", "app.log.1");
    f.step();  // in the instant without the name
    f.append("app.log", numbered(i, 1));
    f.step();
  }
  f.glob("app.log");
  f.run();

  CHECK(f.texts().size() == 200);
  CHECK(all_different(f.texts()));
}

TEST_CASE("case 13: a watched name that comes back is followed without a new list") {
  FollowFixture f;
  f.append("app.log", numbered(0, 1));
  f.glob("app.log");
  f.run();
  f.rename("app.log", "moved");
  f.run(seconds(1));
  f.append("app.log", numbered(1, 1));
  f.append("moved", numbered(2, 1));
  f.run();

  CHECK(f.texts().size() == 3);
}

TEST_CASE("case 14: a renamed file stays one stream while the writer keeps it open") {
  FollowFixture f;
  f.append("job.out", numbered(0, 10));
  f.glob("job");
  f.run();
  f.rename("job.out", "job.out.1");
  f.append("job.out", numbered(100, 10));
  for (int i = 0; i < 5; ++i) {
    f.append("job.out.1", numbered(10 + i, 1));
    f.glob("job");
    f.run(seconds(1));
  }

  CHECK(f.texts().size() == 25);
  CHECK(all_different(f.texts()));
  REQUIRE(f.streams().size() == 2);
  const auto& paths = f.streams()[0]->lines.size() == 15
                          ? f.streams()[0]->checkpoint.attributes.paths
                          : f.streams()[1]->checkpoint.attributes.paths;
  CHECK(paths == std::vector<std::string>{f.path("job.out"), f.path("job.out.1")});
}

TEST_CASE("case 14: without a glob for the old name it is drained, then closed") {
  FollowFixture f;
  f.append("job.out", numbered(0, 10));
  f.follower().set_targets({f.target("job.out")});
  f.run();
  f.rename("job.out", "elsewhere");
  f.append("elsewhere", numbered(10, 5));
  f.append("job.out", numbered(100, 5));
  f.run(seconds(3));
  f.append("elsewhere", numbered(15, 5));
  f.run(seconds(3));
  f.run(seconds(6));

  CHECK(f.texts().size() == 25);
  int closed = 0;
  for (const auto* stream : f.streams()) {
    if (!stream->checkpoint.closed) continue;
    ++closed;
    CHECK(stream->checkpoint.attributes.paths.back() == f.path("elsewhere"));
    CHECK(stream->checkpoint.close_size == stream->checkpoint.position);
  }
  CHECK(closed == 1);
}

TEST_CASE("case 21: a rename that is rolled back repeats nothing") {
  FollowFixture f;
  f.append("c.log", numbered(0, 10));
  f.follower().set_targets({f.target("c.log")});
  f.run();
  f.rename("c.log", "c.log.20261130");
  f.append("c.log.20261130", numbered(10, 2));
  f.run(milliseconds(200));
  f.rename("c.log.20261130", "c.log");
  f.append("c.log", numbered(12, 2));
  f.run();

  CHECK(f.texts().size() == 14);
  CHECK(f.streams().size() == 1);
}

}  // namespace logarithm::test
