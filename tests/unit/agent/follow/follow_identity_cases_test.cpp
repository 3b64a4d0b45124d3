#include <doctest/doctest.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md A: which file is which.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("case 05: a new file with the inode of a deleted one is read from its start") {
  FollowFixture f;
  f.fs.inode = 77;  // every file says so; the birth time tells them apart
  f.append("a.log", numbered(0, 30));
  f.glob("a");
  f.run();
  f.remove("a.log");
  f.run(seconds(6));
  f.append("b.log", numbered(100, 50));
  f.glob("b");
  f.run();

  CHECK(f.texts().size() == 80);
  CHECK(f.streams().size() == 2);
  CHECK(f.log.problems.empty());
}

TEST_CASE("case 05: without birth times another head under one inode is the next generation") {
  FollowFixture f;
  f.fs.inode = 77;
  f.fs.hide_birth = true;
  f.append("a.log", numbered(0, 30));
  f.glob("a");
  f.run();
  f.remove("a.log");
  f.run(seconds(6));
  f.append("b.log", numbered(100, 60));
  f.glob("b");
  f.run();

  REQUIRE(f.streams().size() == 2);
  CHECK(f.texts().size() == 90);
  const StreamId second = std::next(f.log.streams.begin())->first;
  CHECK(second.generation == 1);
  CHECK(f.log.streams[second].checkpoint.predecessor == 0u);
  CHECK(f.log.problems.empty());
}

TEST_CASE("Follower: more files than descriptors are all read, in `once` mode too") {
  for (const bool once : {false, true}) {
    FollowFixture f;
    f.fs.most_open = 6;
    f.options.max_open = 3;
    f.options.once = once;
    for (int i = 0; i < 40; ++i) f.append("a" + std::to_string(i) + ".log", numbered(0, 5));
    f.glob("a");
    for (int i = 0; i < 60; ++i) f.run(seconds(1));
    CHECK(f.texts().size() == 200);
    CHECK(f.follower().stats().open_waits > 0);
    if (once) CHECK(f.follower().finished());
    f.append("a7.log", numbered(5, 2));
    for (int i = 0; i < 10 && !once; ++i) f.run(seconds(1));
    if (!once) CHECK(f.texts().size() == 202);
    CHECK(f.log.problems.empty());
  }
}

TEST_CASE("case 06: a stored offset beyond the end of the new file is not used") {
  FollowFixture f;
  f.fs.inode = 77;
  f.fs.hide_birth = true;
  f.append("a.log", numbered(0, 2000));
  f.glob("a");
  f.run();
  f.kill();
  f.remove("a.log");
  f.append("a.log", numbered(9000, 10));
  f.glob("a");
  f.run();

  CHECK(f.texts().size() == 2010);
  CHECK(f.texts().back() == "line 9009 of the run");
}

TEST_CASE("case 07: replaced (another head) and truncated (the same head) are told apart") {
  FollowFixture f;
  f.append("a.log", numbered(0, 30));
  f.append("b.log", numbered(0, 30));
  f.glob("");
  f.run();
  f.cut("a.log");
  f.append("a.log", numbered(500, 3));
  f.cut("b.log");
  f.append("b.log", numbered(0, 3));
  f.run();

  CHECK(f.follower().stats().replaced == 1);
  CHECK(f.follower().stats().truncated == 1);
  std::multiset<std::string> reasons;
  for (const auto& [id, stream] : f.log.streams) {
    if (stream.checkpoint.closed) reasons.insert(stream.checkpoint.close_reason);
  }
  CHECK(reasons == std::multiset<std::string>{"replaced", "truncated"});
  CHECK(f.texts().size() == 66);
}

TEST_CASE("case 08: files that begin with the same 2 KiB are all read") {
  FollowFixture f;
  const std::string banner = numbered(0, 120);
  REQUIRE(banner.size() > 2048);
  for (int rank = 0; rank < 4; ++rank) {
    f.append("rank" + std::to_string(rank) + ".log",
             banner + "rank " + std::to_string(rank) + "\n");
  }
  f.glob("rank");
  f.run();

  CHECK(f.streams().size() == 4);
  CHECK(f.texts().size() == 4 * 121);
}

TEST_CASE("case 08: a rotated-looking name with the same banner is a stream of its own") {
  FollowFixture f;
  const std::string banner = numbered(0, 120);
  f.append("rank.log", banner + "first\n");
  f.append("rank.log.1", banner + "second\n");
  f.glob("rank");
  f.run(seconds(3));
  f.run();

  CHECK(f.streams().size() == 2);
  CHECK(f.texts().size() == 2 * 121);
}

TEST_CASE("case 10: zero-length files are no streams until they have a byte") {
  FollowFixture f;
  for (int i = 0; i < 40; ++i) f.append("empty" + std::to_string(i) + ".log", "");
  f.glob("empty");
  f.run();
  CHECK(f.log.streams.empty());

  f.append("empty7.log", "alive\n");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"alive"});
}

TEST_CASE("case 11: a file of a few bytes is read at once") {
  FollowFixture f;
  f.append("stderr", "Traceback (most recent call last):\nValueError: x\n");
  f.glob("stderr");
  f.run();

  CHECK(f.texts().size() == 2);
}

TEST_CASE("case 12: the same file keeps its stream over a restart and a rename") {
  FollowFixture f;
  f.append("a.log", numbered(0, 10));
  f.glob("a");
  f.run();
  f.kill();
  f.rename("a.log", "a.log.1");
  f.append("a.log.1", numbered(10, 10));
  f.append("a.log", numbered(20, 10));
  f.glob("a");
  f.run();

  CHECK(f.streams().size() == 2);
  CHECK(f.texts().size() == 30);
  const std::vector<std::string> texts = f.texts();
  CHECK(std::set<std::string>(texts.begin(), texts.end()).size() == 30);
}

TEST_CASE("Shared file: each run that appends to it has its own version, told by one of its keys") {
  FollowFixture f;
  const auto held_by = [&](std::vector<std::string> holders) {
    FollowTarget target = f.target("all.log");
    target.shared = true;
    target.holders = std::move(holders);
    f.follower().set_targets({target});
  };
  f.append("all.log", numbered(0, 3));
  held_by({"h/1/100", "h/2/101"});
  f.run();
  held_by({"h/1/100", "h/2/101", "h/3/102"});  // one more of the same run was found
  f.append("all.log", numbered(3, 3));
  f.run();
  const MemoryLog::Stream& stream = f.log.streams.begin()->second;
  CHECK(stream.versions.size() == 1);

  for (const char* process : {"h/1/100", "h/2/101", "h/3/102"})
    f.follower().process_exited(process);
  f.append("all.log", numbered(6, 2));  // by the next run, before a scan has seen it
  f.run();
  CHECK(f.texts().size() == 6);
  CHECK(f.follower().wants_scan());
  held_by({"h/7/200", "h/8/201"});
  f.run();

  CHECK(f.texts().size() == 8);
  REQUIRE(stream.versions.size() == 2);
  CHECK(stream.versions.at(0).run_of == "h/1/100");
  CHECK(stream.versions.at(1).run_of == "h/7/200");
  CHECK(stream.versions.at(1).from == numbered(0, 6).size());
  for (const auto& [version, attributes] : stream.versions) {
    CHECK(attributes.process.empty());
    CHECK_FALSE(attributes.rank.has_value());
  }
  CHECK(f.log.problems.empty());
}

TEST_CASE("Shared file: a wrapper names the rank of its lines, and it ends with its last writer") {
  FollowFixture f;
  FollowTarget target = f.target("all.log");
  target.shared = true;
  target.holders = {"h/1/100", "h/2/101"};
  f.append("all.log", "[rank1]: loss is nan\nwho am I\n[rank0]: so is mine\n");
  f.follower().set_targets({target});
  f.run();
  const MemoryLog::Stream& stream = f.log.streams.begin()->second;
  REQUIRE(stream.lines.size() == 3);
  CHECK(stream.lines[0].wrapper_rank == 1);
  CHECK_FALSE(stream.lines[1].wrapper_rank.has_value());
  CHECK(stream.lines[2].wrapper_rank == 0);

  f.follower().process_exited("h/1/100");
  f.run(seconds(5));
  CHECK_FALSE(stream.checkpoint.closed);
  f.follower().process_exited("h/2/101");
  f.run(seconds(5));
  CHECK(stream.checkpoint.closed);
  CHECK(stream.checkpoint.close_reason == "exited");
}

TEST_CASE("case 44: a file and a symbolic link to it are one stream with both names") {
  FollowFixture f;
  f.append("real.log", numbered(0, 5));
  std::filesystem::create_symlink(f.path("real.log"), f.path("rlatest.log"));
  f.glob("r");
  f.run();

  REQUIRE(f.streams().size() == 1);
  CHECK(f.texts().size() == 5);
  const std::vector<std::string>& paths = f.streams()[0]->checkpoint.attributes.paths;
  CHECK(std::count(paths.begin(), paths.end(), f.path("real.log")) == 1);
  CHECK(std::count(paths.begin(), paths.end(), f.path("rlatest.log")) == 1);
}

TEST_CASE("case 46: a lost handle is reopened after a back-off and reading goes on") {
  FollowFixture f;
  f.append("a.log", numbered(0, 10));
  f.glob("a");
  f.run();
  f.append("a.log", numbered(10, 10));
  f.fs.fail_at = f.fs.calls + 1;  // the fstat after the stat of the path
  f.step();
  CHECK(f.follower().stats().handles_lost == 1);
  f.run(milliseconds(100));
  CHECK(f.texts().size() == 10);
  f.run(seconds(2));
  f.run();

  CHECK(f.texts().size() == 20);
  CHECK(f.streams().size() == 1);
}

TEST_CASE("case 46: whichever call fails, nothing is lost or repeated") {
  for (int n = 0; n < 60; ++n) {
    CAPTURE(n);
    FollowFixture f;
    f.append("a.log", numbered(0, 10));
    f.glob("a");
    f.fs.fail_at = n;
    f.run();
    f.append("a.log", numbered(10, 10));
    f.rename("a.log", "a.log.1");
    f.append("a.log", numbered(20, 10));
    f.glob("a");
    f.run(seconds(1));
    f.cut("a.log");
    f.append("a.log", numbered(30, 5));
    for (int i = 0; i < 6; ++i) {
      f.glob("a");
      f.run(seconds(2));
    }

    const std::vector<std::string> texts = f.texts();
    CHECK(std::set<std::string>(texts.begin(), texts.end()).size() == texts.size());
    CHECK(texts.size() == 35);
    CHECK(f.log.problems.empty());
  }
}

}  // namespace logarithm::test
