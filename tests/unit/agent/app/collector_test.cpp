#include "agent/collector.h"

#include <doctest/doctest.h>

#include <filesystem>
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

TEST_CASE_FIXTURE(Fixture,
                  "Collector: case 66, a spool that cannot be written is tried ever more rarely") {
  broken = true;
  const int attempts = turns(seconds(60));

  CHECK(attempts >= 10);
  CHECK(attempts <= 20);
  CHECK(collector->stats().write_retries == static_cast<std::uint64_t>(attempts));
  CHECK(spool->stats().unacked_blocks == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "Collector: case 66, once the spool can be written again nothing is missing") {
  broken = true;
  turns(seconds(20));
  broken = false;
  const std::uint64_t retries = collector->stats().write_retries;
  turns(seconds(8));

  CHECK(collector->stats().write_retries == retries);
  CHECK(collector->stats().lines == 3);
  CHECK(spool->stats().unacked_blocks == 1);
}

Reconfiguration with_files(const test::TempDir& dir, const std::string& glob,
                           const std::string& path) {
  static std::vector<RuleProblem> problems;
  Reconfiguration out;
  out.rules = RuleSet::build({}, problems);
  out.processes = false;
  out.poll = milliseconds(100);
  out.files = {{.glob = dir.file(glob), .job = "j", .path = path}};
  out.spool_max_bytes = 1u << 30;
  out.spool_segment_bytes = 8u << 20;
  return out;
}

TEST_CASE_FIXTURE(Fixture, "Collector: a reload follows what the new configuration names") {
  std::ofstream(dir.file("b.out")) << "four\nfive\n";
  turns(seconds(3));
  CHECK(collector->stats().lines == 3);

  const Status changed = pool.run_and_wait([&](BlockingToken& token) {
    return collector->reconfigure(token, with_files(dir, "*.out", ""));
  });
  CHECK(changed.ok());
  turns(seconds(3));
  CHECK(collector->stats().lines == 5);
}

TEST_CASE_FIXTURE(Fixture, "Collector: what a reload left out of the rules is told, and counted") {
  const auto take = [&](std::vector<std::string> wrong, const std::string& path) {
    Reconfiguration change = with_files(dir, "*.log", path);
    change.rule_problems = std::move(wrong);
    return pool.run_and_wait(
        [&](BlockingToken& token) { return collector->reconfigure(token, change).ok(); });
  };
  const auto told = [&] {
    return pool.run_and_wait(
        [&](BlockingToken& token) { return collector->heartbeat(token).rule_problems; });
  };
  CHECK(take({"r.yaml:3: rules[0].match: missing )"}, ""));
  CHECK(told() == std::vector<std::string>{"r.yaml:3: rules[0].match: missing )"});
  CHECK(collector->stats().rule_problems == 1);
  // A reload that is refused leaves it.
  CHECK_FALSE(take({}, "rank-(?P<rank"));
  CHECK(told().size() == 1);
  // Heartbeats stay small, and say so.
  CHECK(take(std::vector<std::string>(70, "wrong"), ""));
  CHECK(told().size() == Collector::kMostRuleProblems + 1);
  CHECK(told().back() == "… and 20 more: --check-config names them all");
  CHECK(collector->stats().rule_problems == 70);
  CHECK(take({}, ""));
  CHECK(told().empty());
  CHECK(collector->stats().rule_problems == 0);
}

TEST_CASE_FIXTURE(Fixture, "Collector: a configuration that is no good changes nothing") {
  turns(seconds(3));
  const Status refused = pool.run_and_wait([&](BlockingToken& token) {
    return collector->reconfigure(token, with_files(dir, "*.out", "rank-(?P<rank"));
  });
  CHECK(!refused.ok());
  std::ofstream(dir.file("a.log"), std::ios::app) << "four\n";
  turns(seconds(3));
  CHECK(collector->stats().lines == 4);
}

TEST_CASE_FIXTURE(Fixture,
                  "case 77: Collector: reloads between any two turns lose and repeat nothing") {
  constexpr int kFiles = 100, kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    for (int file = 0; file < kFiles; ++file) {
      const std::string name = "w" + std::to_string(file) + ".log";
      std::ofstream(dir.file(name), std::ios::app) << "file " << file << " line " << round;
      if (round % 3 != 0) std::ofstream(dir.file(name), std::ios::app) << "\n";
    }
    // A name more and a name less, so that targets come and go.
    const Status changed = pool.run_and_wait([&](BlockingToken& token) {
      return collector->reconfigure(token, with_files(dir, round % 2 == 0 ? "*.log" : "w*", ""));
    });
    REQUIRE(changed.ok());
    turns(milliseconds(100));
  }
  for (int file = 0; file < kFiles; ++file) {
    std::ofstream(dir.file("w" + std::to_string(file) + ".log"), std::ios::app) << "\n";
  }
  turns(seconds(5));
  std::uint64_t size = 0;
  for (int file = 0; file < kFiles; ++file) {
    size += std::filesystem::file_size(dir.file("w" + std::to_string(file) + ".log"));
  }
  CHECK(collector->stats().bytes == size + 14);  // a.log has 14 bytes
  CHECK(collector->stats().gaps == 0);
}

}  // namespace
}  // namespace logarithm::agent
