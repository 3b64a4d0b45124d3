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

TEST_CASE_FIXTURE(Fixture,
                  "Agents: case 47, of two that tell of one stream the one that saw more counts") {
  const auto tell = [&](const std::string& agent, std::uint64_t size) {
    wire::Hello hello;
    hello.agent = hello.host = agent;
    registry.connected("tenant", hello, clock.now());
    wire::Heartbeat heartbeat;
    heartbeat.streams.push_back(wire::StreamLag{stream, "job", size, size});
    registry.heartbeat("tenant", agent, heartbeat, clock.wall_now(), clock.now());
  };
  const auto size = [&] { return view.progress_of(JobKey{"tenant", "job"})(stream)->size; };
  for (const char* first : {"a", "z"}) {
    CAPTURE(first);
    tell(first, 100);
    tell("m", 40);
    CHECK(size() == 100);
    registry.forget("tenant", first);
  }
  // One that has left knows less than any that is there.
  clock.advance(io, seconds(11));
  tell("b", 10);
  CHECK(size() == 10);
}

}  // namespace logarithm::aggregator
