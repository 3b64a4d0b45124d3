#include "agent/collector.h"

#include <doctest/doctest.h>

#include <fstream>

#include "common/async/worker_pool.h"
#include "common/rules/rule_set.h"
#include "tests/support/fault_fs.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_fs.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct NoOracle final : StreamOracle {
  void ask(const StreamBase&, const std::string&) override {}
  std::optional<wire::StreamState> answer(const StreamBase&, const std::string&) override {
    return wire::StreamState{};
  }
  void drop(const StreamBase&, const std::string&) override {}
  std::uint64_t sessions() const override { return 0; }
};

// A collector over one file; its spool's disk fails while `broken`.
struct Fixture {
  Fixture() {
    std::ofstream(dir.file("a.log")) << "one\ntwo\nthree\n";
    spool_options.directory = "/state";
    spool_options.min_free = 0;
    const Status opened = pool.run_and_wait([&](BlockingToken& token) -> Status {
      LGR_TRY(spool, Spool::open(token, spool_options, files, clock));
      return {};
    });
    REQUIRE(opened.ok());
    DiscoveryOptions options;
    options.processes = false;
    options.files = {{.glob = dir.file("*.log"), .job = "j", .path = ""}};
    auto made = Discovery::make(options);
    REQUIRE(made.ok());
    discovery = std::move(made).value();
    FollowOptions follow;
    follow.inotify = false;
    follower = std::make_unique<Follower>(follow, source, *rules, *spool, oracle, clock);
    collector =
        std::make_unique<Collector>(*discovery, *follower, *spool, clock, milliseconds(100));
  }

  // Turns for so long; how many of them touched the disk.
  int turns(std::chrono::milliseconds time) {
    int attempts = 0;
    for (milliseconds passed(0); passed < time; passed += milliseconds(50)) {
      if (broken) files.arm(0);
      pool.run_and_wait([&](BlockingToken& token) { return collector->turn(token).more; });
      attempts += broken && files.fired() ? 1 : 0;
      files.disarm();
      clock.advance(io, milliseconds(50));
    }
    return attempts;
  }

  test::TempDir dir;
  test::MemoryFs memory;
  test::FaultFs files{memory};
  test::ManualClock clock;
  boost::asio::io_context io;
  WorkerPool pool{1};
  SpoolOptions spool_options;
  std::vector<RuleProblem> problems;
  std::shared_ptr<const RuleSet> rules = RuleSet::build({}, problems);
  PosixSourceFs source;
  NoOracle oracle;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<Discovery> discovery;
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Collector> collector;
  bool broken = false;
};

TEST_CASE_FIXTURE(Fixture, "Collector: a spool that cannot be written is tried ever more rarely") {
  broken = true;
  const int attempts = turns(seconds(60));

  CHECK(attempts >= 10);
  CHECK(attempts <= 20);
  CHECK(collector->stats().write_retries == static_cast<std::uint64_t>(attempts));
  CHECK(spool->stats().unacked_blocks == 0);
}

TEST_CASE_FIXTURE(Fixture, "Collector: once the spool can be written again nothing is missing") {
  broken = true;
  turns(seconds(20));
  broken = false;
  const std::uint64_t retries = collector->stats().write_retries;
  turns(seconds(8));

  CHECK(collector->stats().write_retries == retries);
  CHECK(collector->stats().lines == 3);
  CHECK(spool->stats().unacked_blocks == 1);
}

}  // namespace
}  // namespace logarithm::agent
