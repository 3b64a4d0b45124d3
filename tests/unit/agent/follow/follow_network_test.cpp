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

}  // namespace logarithm::test
