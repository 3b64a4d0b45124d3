#include "aggregator/store/attempts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace logarithm::aggregator {
namespace {

constexpr UnixNanos kMs = 1'000'000;
constexpr UnixNanos kSecond = 1000 * kMs;

ProcessInfo process(std::string host, std::int32_t pid, UnixNanos start,
                    std::optional<UnixNanos> exit) {
  ProcessInfo info;
  info.host = std::move(host);
  info.pid = pid;
  info.start = start;
  info.start_error = 10 * kMs;
  info.exit = exit;
  info.exit_error = kMs;
  info.last_seen = exit.value_or(start);
  return info;
}

std::vector<std::int32_t> attempts(const std::vector<ProcessInfo>& processes) {
  return compute_attempts(processes);
}

using Numbers = std::vector<std::int32_t>;

TEST_CASE("Attempts: ranks that live together are one attempt, over hosts too") {
  CHECK(attempts({process("a", 1, 0, 60 * kSecond), process("a", 2, kSecond, 60 * kSecond),
                  process("b", 3, 2 * kSecond, 61 * kSecond)}) == Numbers{0, 0, 0});
}

TEST_CASE("Attempts: sequential runs 50 ms apart are two attempts") {
  CHECK(attempts({process("a", 1, 0, kSecond), process("a", 2, kSecond + 50 * kMs, 2 * kSecond)}) ==
        Numbers{0, 1});
}

TEST_CASE("Attempts: an overlap within the clocks' error links nothing") {
  // 11 ms of seeming overlap against 10 + 1 ms of error.
  CHECK(attempts({process("a", 1, 0, kSecond), process("a", 2, kSecond - 11 * kMs, 2 * kSecond)}) ==
        Numbers{0, 1});
  CHECK(attempts({process("a", 1, 0, kSecond), process("a", 2, kSecond - 12 * kMs, 2 * kSecond)}) ==
        Numbers{0, 0});
}

TEST_CASE("Attempts: even exact stamps need a few milliseconds of overlap") {
  auto one = process("a", 1, 0, kSecond);
  auto two = process("a", 2, kSecond - 4 * kMs, 2 * kSecond);
  one.exit_error = two.start_error = 0;
  CHECK(attempts({one, two}) == Numbers{0, 1});
  two.start = kSecond - 6 * kMs;
  CHECK(attempts({one, two}) == Numbers{0, 0});
}

TEST_CASE("Attempts: on one host different restart counters are different attempts") {
  auto old_one = process("a", 1, 0, 10 * kSecond);
  auto new_one = process("a", 2, 5 * kSecond, 20 * kSecond);
  old_one.restart_count = 0;
  new_one.restart_count = 1;
  CHECK(attempts({old_one, new_one}) == Numbers{0, 1});
  new_one.restart_count = 0;
  CHECK(attempts({old_one, new_one}) == Numbers{0, 0});
  new_one.restart_count.reset();
  CHECK(attempts({old_one, new_one}) == Numbers{0, 1});
}

TEST_CASE("Attempts: restart counters of different hosts are not compared") {
  auto here = process("a", 1, 0, 10 * kSecond);
  auto there = process("b", 2, 5 * kSecond, 20 * kSecond);
  here.restart_count = 0;
  there.restart_count = 3;
  CHECK(attempts({here, there}) == Numbers{0, 0});
}

TEST_CASE("Attempts: links carry over a chain") {
  CHECK(attempts({process("a", 1, 0, 10 * kSecond), process("b", 2, 9 * kSecond, 20 * kSecond),
                  process("a", 3, 19 * kSecond, 30 * kSecond)}) == Numbers{0, 0, 0});
}

TEST_CASE("Attempts: a living process lasts until it was not heard of for a minute") {
  auto living = process("a", 1, 0, std::nullopt);
  living.last_seen = 30 * kSecond;
  CHECK(attempts({living, process("b", 2, 20 * kSecond, 25 * kSecond)}) == Numbers{0, 0});
  CHECK(attempts({living, process("b", 2, 80 * kSecond, 85 * kSecond)}) == Numbers{0, 0});
  CHECK(attempts({living, process("b", 2, 91 * kSecond, 95 * kSecond)}) == Numbers{0, 1});
}

TEST_CASE("Attempts: ranks of a run that starts are one attempt though each was told but once") {
  std::vector<ProcessInfo> processes;
  for (int rank = 0; rank < 4; ++rank) {
    auto one = process(rank < 2 ? "a" : "b", rank + 1, rank * kSecond, std::nullopt);
    one.last_seen = one.start + 100 * kMs;
    one.rank = rank;
    processes.push_back(one);
  }
  CHECK(attempts(processes) == Numbers{0, 0, 0, 0});
  // Their exits were never told; the next run has the same ranks.
  for (int rank = 0; rank < 4; ++rank) {
    auto one = process("a", rank + 11, (30 + rank) * kSecond, std::nullopt);
    one.last_seen = one.start + 100 * kMs;
    one.rank = rank;
    processes.push_back(one);
  }
  CHECK(attempts(processes) == Numbers{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("Attempts: numbers stated by every process are taken as they are") {
  auto one = process("a", 1, 0, kSecond);
  auto two = process("a", 2, 0, kSecond);
  one.stated_attempt = 7;
  two.stated_attempt = 3;
  CHECK(attempts({one, two}) == Numbers{7, 3});
  two.stated_attempt.reset();
  CHECK(attempts({one, two}) == Numbers{0, 0});
}

TEST_CASE("Attempts: nothing gives nothing, one process is attempt 0") {
  CHECK(attempts({}).empty());
  CHECK(attempts({process("a", 1, 5, 6)}) == Numbers{0});
}

TEST_CASE("Attempts: a run that starts while the last one is dying is an attempt of its own") {
  std::vector<ProcessInfo> processes;
  for (int run = 0; run < 2; ++run) {
    for (int rank = 0; rank < 4; ++rank) {
      auto info =
          process("a", run * 4 + rank, (run * 1000 + rank) * kMs, (run * 1000 + 1200) * kMs);
      info.rank = rank;
      processes.push_back(info);
    }
  }

  CHECK(attempts(processes) == Numbers{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("Attempts: hosts that do not overlap each other are joined by one that overlaps both") {
  auto first = process("a", 1, 0, 1000 * kMs), second = process("b", 2, 2000 * kMs, 3000 * kMs);
  auto both = process("c", 3, 500 * kMs, 2500 * kMs);
  first.rank = 0;
  second.rank = 1;
  both.rank = 2;

  CHECK(attempts({first, second, both}) == Numbers{0, 0, 0});
  second.rank = 0;
  CHECK(attempts({first, second, both}) == Numbers{0, 1, 0});
}

TEST_CASE("Attempts: the order of the input does not matter") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<ProcessInfo> processes;
    for (int i = 0; i < 12; ++i) {
      const UnixNanos start = static_cast<UnixNanos>(random() % 1000) * 10 * kMs;
      auto info = process(random() % 2 ? "a" : "b", i, start,
                          start + static_cast<UnixNanos>(random() % 200) * 10 * kMs);
      if (random() % 2) info.restart_count = static_cast<std::int32_t>(random() % 2);
      processes.push_back(info);
    }
    const auto before = compute_attempts(processes);
    std::vector<std::size_t> order(processes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<ProcessInfo> shuffled;
    for (std::size_t i : order) shuffled.push_back(processes[i]);

    const auto after = compute_attempts(shuffled);

    for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(after[i] == before[order[i]]);
  }
}

}  // namespace
}  // namespace logarithm::aggregator
