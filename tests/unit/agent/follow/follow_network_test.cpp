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
    f.run();
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

TEST_CASE(
    "case 47: a network file is read by the agent that gets the lease, local ones need none") {
  FollowFixture f;
  f.log.created = 1;  // born after our state: else it would be asked about in any case
  f.append("rank-0.log", numbered(0, 5));

  SUBCASE("local") {
    f.oracle.connected = false;
    f.glob("rank");
    f.run();
    CHECK(f.texts().size() == 5);
    CHECK(f.oracle.claims.empty());
  }
  SUBCASE("nothing is read before the answer") {
    f.fs.network = true;
    f.oracle.connected = false;
    f.glob("rank");
    f.run();
    CHECK(f.texts().empty());
    CHECK(f.oracle.claims.size() == 1);
    f.oracle.connected = true;
    f.run();
    CHECK(f.texts().size() == 5);
  }
  SUBCASE("another agent has it until it falls silent: then we go on behind what is stored") {
    f.fs.network = true;
    f.oracle.leased_elsewhere = true;
    f.glob("rank");
    f.run();
    f.append("rank-0.log", numbered(5, 5));
    f.run(seconds(30));
    CHECK(f.texts().empty());
    CHECK(f.follower().lag().empty());  // it is no backlog of ours
    CHECK(f.oracle.claims.size() == 1);
    f.run(seconds(31));
    f.run(seconds(1));
    CHECK(f.oracle.claims.size() == 2);
    CHECK(f.texts().empty());
    f.oracle.leased_elsewhere = false;
    f.run(seconds(61));
    f.run(seconds(1));
    CHECK(f.texts().size() == 10);
  }
  SUBCASE("what is imported is nobody else's") {
    f.fs.network = true;
    FollowTarget target = f.target("rank-0.log");
    target.import_base = "rank-0.log";
    f.follower().set_targets({target});
    f.run();
    CHECK(f.texts().size() == 5);
    CHECK(f.oracle.claims.empty());
  }
  CHECK(f.log.problems.empty());
}

}  // namespace logarithm::test
