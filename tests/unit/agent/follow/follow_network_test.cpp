#include <doctest/doctest.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md, case 47: files that several hosts see.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("case 47: what another host writes to a network file is found by polling") {
  for (const bool network : {false, true}) {
    CAPTURE(network);
    FollowFixture f;
    f.fs.network = network;
    f.options.inotify = true;
    f.options.poll = std::chrono::hours(1);
    f.options.poll_unwatched = milliseconds(200);
    f.append("rank-0.log", "before\n");
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(1));
    REQUIRE(f.texts() == std::vector<std::string>{"before"});
    // Through another directory: no event tells of it in ours, as none does of another host's
    // writes.
    TempDir elsewhere;
    std::filesystem::create_hard_link(f.path("rank-0.log"), elsewhere.file("there"));
    f.run(seconds(1));
    std::ofstream(elsewhere.file("there"), std::ios::app) << "from there\n";
    f.run(milliseconds(300));
    CHECK(f.texts().size() == (network ? 2 : 1));
    CHECK(f.log.problems.empty());
  }
}

TEST_CASE("case 47: a network file is read by the agent that may, local ones ask nobody") {
  FollowFixture f;
  f.log.created = 1;  // born after our state: else it would be asked about in any case
  f.append("rank-0.log", numbered(0, 5));
  const auto network_target = [&](const std::string& process) {
    FollowTarget target = f.target("rank-0.log");
    target.process = process;
    f.follower().set_targets({target});
  };
  f.fs.network = true;

  SUBCASE("local") {
    f.fs.network = false;
    f.oracle.connected = false;
    f.glob("rank");
    f.run();
    CHECK(f.texts().size() == 5);
    CHECK(f.oracle.claims.empty());
  }
  SUBCASE("nothing is read before the answer, and others are let go first") {
    f.oracle.connected = false;
    f.glob("rank");
    f.run(seconds(1));
    CHECK(f.oracle.claims.empty());
    f.run(seconds(3));
    f.run();
    CHECK(f.oracle.claims == std::vector<Claim>{Claim::reader});
    CHECK(f.texts().empty());
    f.oracle.connected = true;
    f.run();
    CHECK(f.texts().size() == 5);
  }
  SUBCASE("what a process of this host writes is claimed at once") {
    network_target("node1/7/1");
    f.run();
    CHECK(f.oracle.claims == std::vector<Claim>{Claim::writer});
    CHECK(f.texts().size() == 5);
  }
  SUBCASE("another agent reads it until it falls silent: then we go on behind what is stored") {
    f.oracle.leased_elsewhere = true;
    f.glob("rank");
    for (int i = 0; i < 30; ++i) f.run(seconds(2));
    CHECK(f.texts().empty());
    CHECK(f.follower().lag().empty());  // it is no backlog of ours
    CHECK(f.follower().left_to_others() == 1);
    CHECK(f.oracle.claims.size() == 4);  // every 15 s, not in every turn
    CHECK(f.fs.open_files == 0);
    f.oracle.leased_elsewhere = false;
    for (int i = 0; i < 10; ++i) f.run(seconds(2));
    CHECK(f.texts().size() == 5);
    CHECK(f.follower().left_to_others() == 0);
  }
  SUBCASE("a process of this host that begins to write it is a reason to ask again at once") {
    f.oracle.leased_elsewhere = true;
    f.glob("rank");
    for (int i = 0; i < 2; ++i) f.run(seconds(2));
    REQUIRE(f.oracle.claims.size() == 1);
    f.oracle.leased_elsewhere = false;
    network_target("node1/7/1");
    f.run();
    CHECK(f.oracle.claims.back() == Claim::writer);
    CHECK(f.texts().size() == 5);
  }
  SUBCASE("who reads it renews that, and hands over what another agent reads now") {
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(2));
    REQUIRE(f.texts().size() == 5);
    CHECK(f.oracle.claims.size() == 1);
    f.append("rank-0.log", numbered(5, 2) + "not whole");
    f.oracle.leased_elsewhere = true;
    for (int i = 0; i < 40; ++i) f.run(seconds(2));
    CHECK(f.follower().stats().handed_over == 1);
    CHECK(f.follower().left_to_others() == 1);
    // All that was read is told; the rest of it is for others to tell.
    REQUIRE(f.follower().lag().size() <= 1);
    for (const wire::StreamLag& lag : f.follower().lag()) CHECK(lag.offset == lag.size);
    f.run(std::chrono::minutes(1));
    CHECK(f.log.forgotten.size() == 1);
    CHECK(f.follower().lag().empty());
    // It comes back: another version of the attributes, behind what is stored.
    f.append("rank-0.log", " before\n" + numbered(8, 2));
    f.oracle.live = &f.log;
    f.oracle.leased_elsewhere = false;
    for (int i = 0; i < 10; ++i) f.run(seconds(2));
    CHECK(f.texts().size() == 11);  // what was not whole left when nothing more came
    REQUIRE(f.streams().size() == 1);
    CHECK(f.streams()[0]->checkpoint.attributes.version == 1);
    CHECK(f.log.forgotten.empty());
  }
  SUBCASE("an agent that is started again asks before it goes on") {
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(2));
    REQUIRE(f.texts().size() == 5);
    f.kill();
    f.oracle.leased_elsewhere = true;
    f.append("rank-0.log", numbered(5, 5));
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(2));
    CHECK(f.texts().size() == 5);
    CHECK(f.follower().left_to_others() == 1);
  }
  SUBCASE("what an earlier run did not finish is asked about, and read to its end") {
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(2));
    REQUIRE(f.texts().size() == 5);
    f.kill();
    f.append("rank-0.log", numbered(5, 5));
    f.follower().set_targets({});
    for (int i = 0; i < 10; ++i) f.run(seconds(2));
    CHECK(f.texts().size() == 10);
  }
  SUBCASE("a copy of what another agent reads is left to it as well") {
    f.oracle.leased_elsewhere = true;
    f.glob("rank");
    for (int i = 0; i < 4; ++i) f.run(seconds(2));
    f.copy("rank-0.log", "rank-0.log.1");
    f.oracle.claims.clear();
    f.oracle.leased_elsewhere = false;
    f.glob("rank");
    f.run(seconds(2));
    CHECK(f.oracle.claims.empty());
  }
  SUBCASE("what is imported, or read once, is nobody else's") {
    FollowTarget target = f.target("rank-0.log");
    SUBCASE("once") { f.options.once = true; }
    SUBCASE("imported") { target.import_base = "rank-0.log"; }
    f.follower().set_targets({target});
    f.run();
    CHECK(f.texts().size() == 5);
    CHECK(f.oracle.claims.empty());
  }
  CHECK(f.log.problems.empty());
}

}  // namespace logarithm::test
