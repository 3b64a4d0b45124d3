#include "aggregator/ingest/clock_history.h"

#include <doctest/doctest.h>

namespace logarithm::aggregator {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMilli = 1'000'000;

TEST_CASE("ClockHistory: a clock that stands still is kept every half hour") {
  ClockHistory history;
  for (std::int64_t second = 0; second < 4 * 3600; ++second) {
    history.note("t", "node1", ClockReading{second * kSecond, 5 * kMilli, kMilli / 5});
  }
  CHECK(history.take().size() == 8);
  CHECK(history.take().empty());
}

TEST_CASE("ClockHistory: a step is kept at once, drift at most once a minute") {
  ClockHistory history;
  history.note("t", "node1", ClockReading{0, 0, kMilli});
  history.note("t", "node1", ClockReading{kSecond, 3600 * kSecond, kMilli});
  CHECK(history.take().size() == 2);
  for (std::int64_t second = 1; second < 601; ++second) {
    // 50 millionths: more than the errors after 40 s.
    history.note("t", "node2", ClockReading{second * kSecond, second * 50'000, kMilli});
  }
  const auto drift = history.take();
  CHECK(drift.size() >= 9);
  CHECK(drift.size() <= 11);
}

TEST_CASE("ClockHistory: the true offset lies within the errors of what is kept") {
  ClockHistory history;
  std::int64_t offset = 0;
  std::vector<HostClock> kept;
  for (std::int64_t second = 0; second < 3600; ++second) {
    offset += second % 600 < 300 ? 20'000 : -15'000;
    const std::int64_t wrong = (second * 7919) % 2001 - 1000;
    history.note("t", "h", ClockReading{second * kSecond, offset + wrong * 100, 100'000});
    for (HostClock& one : history.take()) kept.push_back(one);
    REQUIRE(!kept.empty());
    // A minute's drift and both errors.
    CHECK(std::abs(kept.back().reading.offset - offset) <= 60 * 20'000 + 4 * 100'000);
  }
}

TEST_CASE("ClockHistory: hosts and tenants are apart, nonsense is not kept, nothing grows") {
  ClockHistory history;
  history.note("a", "h", ClockReading{1, 1, 1});
  history.note("b", "h", ClockReading{1, 2, 1});
  history.note("a", "g", ClockReading{1, INT64_MAX, 1});
  history.note("a", "g", ClockReading{1, 1, -1});
  auto first = history.take();
  CHECK(first.size() == 2);
  history.give_back(std::move(first));
  CHECK(history.take().size() == 2);
  for (int i = 0; i < 70'000; ++i) {
    history.note("a", "host" + std::to_string(i), ClockReading{1, 1, 1});
  }
  CHECK(history.take().size() < ClockHistory::kMaxHosts);
}

}  // namespace
}  // namespace logarithm::aggregator
