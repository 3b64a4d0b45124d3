#include <doctest/doctest.h>

#include "agent/discover/process_table.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_proc.h"

namespace logarithm::agent {
namespace {

using test::FakeProc;

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kStart = FakeProc::kBoot + 100 * kSecond;

struct Fixture {
  FakeProc proc;
  ProcFs fs{proc.root()};
  ProcessTable table{fs, "host1", 0};
  WorkerPool pool{1};

  void scan(UnixNanos at) {
    REQUIRE(pool.run_and_wait([&](BlockingToken& token) { return table.scan(token, at); }).ok());
  }
  const ProcessInfo* rank(std::int32_t number) {
    for (const auto& [key, rank] : table.ranks()) {
      if (!rank.info.exit && rank.info.rank == number) return &rank.info;
    }
    return nullptr;
  }
  FakeProc::Process ray_worker(std::int32_t pid) {
    return {.pid = pid,
            .environment = {{"RAY_JOB_ID", "02000000"}},
            .command = {"ray::_RayTrainWorker__execute"},
            .name = "ray::_RayTrainW"};
  }
};

TEST_CASE_FIXTURE(Fixture, "Mentions: a mapping line gives a Ray worker its rank") {
  proc.put(ray_worker(20));
  proc.put(ray_worker(21));
  scan(kStart);
  CHECK(table.ranks().empty());

  table.mention(21, {.rank = 3, .local_rank = 1, .world_size = 4, .job = "driver"}, "", kStart);
  CHECK(pool.run_and_wait(
      [&](BlockingToken& token) { return table.changed_hint(token, kStart + 1); }));
  scan(kStart + 1);

  REQUIRE(table.ranks().size() == 1);
  const ProcessInfo* info = rank(3);
  REQUIRE(info != nullptr);
  CHECK(info->pid == 21);
  CHECK(info->local_rank == 1);
  CHECK(info->world_size == 4);
  CHECK(info->rank_source == "mapping");
  CHECK(info->launcher == "ray");
  CHECK(info->job == "02000000");
}

TEST_CASE_FIXTURE(Fixture, "Mentions: a vLLM worker without any variable gets the line's job") {
  proc.put({.pid = 30, .name = "VLLM::Worker_TP"});
  scan(kStart);
  table.mention(30, {.rank = 2, .local_rank = {}, .world_size = 8, .job = "serve"}, "", kStart);
  scan(kStart + 1);

  REQUIRE(rank(2) != nullptr);
  CHECK(rank(2)->job == "serve");
  CHECK(rank(2)->launcher == "mapping");
}

TEST_CASE_FIXTURE(Fixture, "Mentions: a rank that the environment names stays") {
  proc.put({.pid = 40, .environment = {{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}}});
  scan(kStart);
  table.mention(40, {.rank = 3, .local_rank = {}, .world_size = {}, .job = ""}, "", kStart);
  scan(kStart + 1);

  CHECK(rank(3) == nullptr);
  REQUIRE(rank(1) != nullptr);
  CHECK(rank(1)->rank_source == "RANK");
}

TEST_CASE_FIXTURE(Fixture, "Mentions: a process of a stated job without a number learns it") {
  proc.put({.pid = 41, .environment = {{"LOGARITHM_JOB", "serve"}}, .name = "serve"});
  scan(kStart);
  REQUIRE(table.ranks().size() == 1);
  table.mention(41, {.rank = 5, .local_rank = {}, .world_size = {}, .job = "x"}, "", kStart);
  scan(kStart + 1);

  REQUIRE(table.ranks().size() == 1);
  REQUIRE(rank(5) != nullptr);
  CHECK(rank(5)->job == "serve");
}

TEST_CASE_FIXTURE(Fixture,
                  "Mentions: of a process that is seen only later, and never of its heir") {
  scan(kStart);
  table.mention(50, {.rank = 0, .local_rank = {}, .world_size = {}, .job = "j"}, "", kStart);
  scan(kStart + kSecond);

  SUBCASE("the process that was meant") {
    proc.put({.pid = 50, .start_ticks = 9'000});
    scan(kStart + 2 * kSecond);
    CHECK(rank(0) != nullptr);
  }
  SUBCASE("another that got its number") {
    proc.put({.pid = 50, .start_ticks = 10'300});
    scan(kStart + 4 * kSecond);
    CHECK(rank(0) == nullptr);
  }
}

TEST_CASE_FIXTURE(Fixture, "Mentions: in a container pids are the speaker's") {
  const std::string here = "0::/docker/" + std::string(64, 'a') + "\n";
  const std::string there = "0::/docker/" + std::string(64, 'b') + "\n";
  FakeProc::Process speaker = {
      .pid = 60, .environment = {{"LOGARITHM_JOB", "j"}}, .name = "driver"};
  speaker.inner_pid = 1;
  speaker.cgroup = here;
  FakeProc::Process worker = {.pid = 61};
  worker.inner_pid = 7;
  worker.cgroup = here;
  FakeProc::Process other = {.pid = 59};
  other.inner_pid = 7;
  other.cgroup = there;
  proc.put(speaker);
  proc.put(worker);
  proc.put(other);
  proc.put({.pid = 7, .name = "kthread-like"});
  scan(kStart);
  REQUIRE(table.ranks().size() == 1);
  const std::string key = table.ranks().begin()->first;

  table.mention(7, {.rank = 2, .local_rank = {}, .world_size = {}, .job = "j"}, key, kStart);
  scan(kStart + 1);

  REQUIRE(rank(2) != nullptr);
  CHECK(rank(2)->pid == 61);
}

}  // namespace
}  // namespace logarithm::agent
