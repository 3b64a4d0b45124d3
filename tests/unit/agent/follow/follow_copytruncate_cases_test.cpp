#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md A: files that are copied and cut, or cut alone.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

enum class Seen { copy_first, cut_first, together };

// Three lines, copytruncate, one line: seen by the follower in this order.
void rotate_by_copy(FollowFixture& f, Seen order) {
  f.append("app.log", numbered(0, 3));
  f.glob("app.log");
  f.run();
  f.copy("app.log", "app.log.1");
  if (order == Seen::copy_first) {
    f.glob("app.log");
    f.run();
  }
  f.cut("app.log");
  if (order == Seen::copy_first) f.run();
  f.append("app.log", numbered(3, 1));
  if (order == Seen::cut_first) f.run();
  f.glob("app.log");
  f.run(seconds(3));
  f.glob("app.log");
  f.run(seconds(3));
}

}  // namespace

TEST_CASE("case 01: a copytruncate copy is not sent again") {
  for (const Seen order : {Seen::copy_first, Seen::cut_first, Seen::together}) {
    FollowFixture f;
    rotate_by_copy(f, order);

    CHECK(f.texts().size() == 4);
    CHECK(all_different(f.texts()));
    CHECK(f.gaps().empty());
    CHECK(f.follower().stats().copies == 1);
  }
}

TEST_CASE("case 01: a copy stays a copy over restarts and the next rotation") {
  FollowFixture f;
  rotate_by_copy(f, Seen::together);
  f.kill();
  f.glob("app.log");
  f.run(seconds(3));
  f.run(seconds(3));
  CHECK(f.texts().size() == 4);

  f.rename("app.log.1", "app.log.2");
  f.append("app.log", numbered(4, 2));
  f.copy("app.log", "app.log.1");
  f.cut("app.log");
  f.glob("app.log");
  f.run(seconds(3));
  f.kill();
  f.glob("app.log");
  f.run(seconds(3));
  CHECK(f.texts().size() == 6);
  CHECK(all_different(f.texts()));
}

TEST_CASE("case 01: bytes of the copy past what was read continue the old generation") {
  FollowFixture f;
  f.append("app.log", numbered(0, 30));
  f.glob("app.log");
  f.run();
  f.append("app.log", numbered(30, 20) + "half a li");
  f.copy("app.log", "app.log-20261130");
  f.cut("app.log");
  f.append("app.log", numbered(100, 5));
  f.glob("app.log");
  f.run(seconds(1));

  const MemoryLog::Stream& old = f.log.streams.begin()->second;
  CHECK(old.lines.size() == 51);
  CHECK(old.lines.back().raw == "half a li");
  CHECK(old.checkpoint.closed);
  CHECK(old.checkpoint.close_reason == "copytruncate");
  CHECK(f.texts().size() == 56);
  CHECK(f.log.problems.empty());
}

TEST_CASE("case 01: a shorter copy than what was read is recognised too") {
  FollowFixture f;
  f.append("app.log", numbered(0, 3000));
  f.glob("app.log");
  f.run();
  f.copy("app.log", "app.log.1");
  f.append("app.log", numbered(3000, 700));
  f.run();  // read past the end of the copy
  f.cut("app.log");
  f.append("app.log", numbered(9000, 5));
  f.glob("app.log");
  f.run(seconds(3));
  f.run(seconds(3));

  CHECK(f.texts().size() == 3705);
  CHECK(all_different(f.texts()));
}

TEST_CASE("case 01: a file that only looks like a copy is a stream of its own") {
  FollowFixture f;
  const std::string banner = numbered(0, 120);
  f.append("app.log", banner + numbered(200, 50));
  f.glob("app.log");
  f.run();
  f.append("app.log.1", banner + numbered(300, 60));
  f.cut("app.log");
  f.append("app.log", numbered(400, 5));
  f.glob("app.log");
  f.run(seconds(3));
  f.run(seconds(3));

  CHECK(f.texts().size() == 170 + 180 + 5);
  CHECK(f.follower().stats().copies == 0);
}

TEST_CASE("case 02: two copytruncates and a restart: 150 records, none twice") {
  FollowFixture f;
  f.append("app.log", numbered(0, 50));
  f.glob("app.log");
  f.run();

  SUBCASE("the agent sees both rotations") {
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
    f.append("app.log", numbered(50, 50));
    f.glob("app.log");
    f.run(seconds(1));
    f.rename("app.log.1", "app.log.2");
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
    f.glob("app.log");
    f.run(seconds(1));
    f.kill();
  }
  SUBCASE("the agent is down during both") {
    f.kill();
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
    f.append("app.log", numbered(50, 50));
    f.rename("app.log.1", "app.log.2");
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
  }
  SUBCASE("the agent dies between the rotation and its being noticed") {
    f.append("app.log", numbered(50, 25));
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
    f.append("app.log", numbered(75, 25));
    f.kill();
    f.glob("app.log");
    f.step();
    f.step();
    f.kill();
    f.rename("app.log.1", "app.log.2");
    f.copy("app.log", "app.log.1");
    f.cut("app.log");
  }
  f.append("app.log", numbered(100, 50));
  for (int i = 0; i < 3; ++i) {
    f.glob("app.log");
    f.run(seconds(3));
  }

  CHECK(f.texts().size() == 150);
  CHECK(all_different(f.texts()));
  CHECK(f.gaps().empty());
  CHECK(f.log.problems.empty());
}

TEST_CASE("case 02: where the copy matches nothing, the known loss is a gap with its size") {
  FollowFixture f;
  f.append("app.log", numbered(0, 50));
  f.glob("app.log");
  f.run();
  f.append("app.log", numbered(50, 50));
  f.log.full = true;  // seen, not read
  f.run();
  const std::uint64_t size = std::filesystem::file_size(f.path("app.log"));
  f.append("app.log", numbered(100, 10));
  f.run();
  f.log.full = false;
  f.cut("app.log");
  f.append("app.log", numbered(200, 1));
  f.run(seconds(1));
  f.run(seconds(1));

  CHECK(f.texts().size() == 101);
  REQUIRE(f.gaps().size() <= 1);
  if (!f.gaps().empty()) CHECK(f.gaps()[0].from == size);
}

TEST_CASE("case 03: a busy file that is cut leaves one gap, a quiet one none") {
  FollowFixture f;
  f.append("busy.log", numbered(0, 10));
  f.append("quiet.log", numbered(0, 10));
  f.glob("");
  f.run();
  for (int i = 1; i < 30; ++i) {
    f.append("busy.log", numbered(i * 1000, 200));
    f.run(milliseconds(100));
  }
  const std::uint64_t read = std::filesystem::file_size(f.path("busy.log"));
  f.cut("busy.log");
  f.cut("quiet.log");
  f.clock.advance(milliseconds(100));
  f.append("busy.log", numbered(90000, 1));
  f.append("quiet.log", numbered(90000, 1));
  f.run();

  REQUIRE(f.gaps().size() == 1);
  CHECK(f.gaps()[0].from == read);
  CHECK(!f.gaps()[0].to.has_value());
  CHECK(f.gaps()[0].reason == "truncated");
}

TEST_CASE("case 03: a file that was cut and is longer again than what was read is noticed") {
  FollowFixture f;
  f.append("a.log", numbered(0, 10));
  f.glob("a");
  f.run();
  f.cut("a.log");
  f.append("a.log", numbered(100, 40));
  f.run();

  CHECK(f.texts().size() == 50);
  CHECK(f.streams().size() == 2);
}

}  // namespace logarithm::test
