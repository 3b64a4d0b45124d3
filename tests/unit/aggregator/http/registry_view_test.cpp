#include "aggregator/http/registry_view.h"

#include <doctest/doctest.h>

#include "tests/support/manual_clock.h"

namespace logarithm::aggregator {
namespace {

using std::chrono::seconds;

constexpr UnixNanos kHour = 3600'000'000'000;

struct Fixture {
  test::ManualClock clock;
  boost::asio::io_context io;
  AgentRegistry registry;
  RegistryView view{registry, clock};
  const StreamId stream{{1, 2}, 0};

  Fixture() {
    wire::Hello hello;
    hello.agent = "agent";
    hello.host = "host";
    registry.connected("tenant", hello, clock.now());
    wire::StreamLag lag;
    lag.stream = stream;
    lag.job = "job";
    wire::Heartbeat heartbeat;
    heartbeat.streams.push_back(lag);
    registry.heartbeat("tenant", "agent", heartbeat, clock.wall_now(), clock.now());
  }
  bool alive() {
    const auto progress = view.progress_of(JobKey{"tenant", "job"})(stream);
    REQUIRE(progress);
    return progress->alive;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "Agents: case 61: a clock that is set back keeps no silent one alive") {
  clock.set_wall(clock.wall_now() - kHour);
  CHECK(alive());
  clock.advance(io, seconds(11));
  CHECK_FALSE(alive());
}

TEST_CASE_FIXTURE(Fixture, "Agents: case 61: a clock that is set forward takes none away") {
  clock.set_wall(clock.wall_now() + kHour);
  CHECK(alive());
}

}  // namespace logarithm::aggregator
