#include <doctest/doctest.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md A: rotation, truncation, deletion.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

bool all_different(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
}

}  // namespace

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

TEST_CASE("Follower: a turn ends in time, however much there is to read") {
  FollowFixture f;
  f.append("a.log", std::string(1u << 20, '\n'));
  f.glob("a");
  f.run();
  f.append("a.log", std::string(1u << 20, '\n'));
  f.clock.tick = std::chrono::milliseconds(30);

  const StepReport report = f.step();

  CHECK(report.more);
  CHECK(report.bytes > 0);
  CHECK(report.bytes <= 64u << 10);  // four reads of short lines
  f.clock.tick = {};
  f.run();
  CHECK(f.texts().size() == 2u << 20);
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
