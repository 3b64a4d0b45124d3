#include "aggregator/store/retention.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "aggregator/query/completeness.h"
#include "tests/unit/aggregator/store/made_store.h"

namespace logarithm::aggregator::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000;
const JobKey kJob = key_of("run7");
const StreamId kStream = stream_of("rank 0");

PartFile part(const std::string& job, std::uint32_t number, std::uint64_t bytes, int written,
              bool newest = false) {
  PartFile out;
  out.job = key_of(job);
  out.part = number;
  out.bytes = bytes;
  out.written = written * kSecond;
  out.newest = newest;
  return out;
}

// Small parts, so that jobs have many; times of files follow the store's clock.
struct Aged {
  explicit Aged(RetentionLimits limits = {}) {
    SqliteStorageOptions options;
    options.jobs.max_part_bytes = 1;  // a new part for every commit
    options.retention = limits;
    options.min_free_bytes = 0;
    options.free_bytes = [this](const std::string&) { return std::optional(free); };
    store = std::make_unique<Store>(options);
  }
  // A block at the end of the stream, in a part of its own.
  MadeBlock put(const JobKey& job = kJob) {
    const MadeBlock made = make_block(kStream, job.job, numbered_lines(ends[job], 10));
    ends[job] = made.block.end;
    REQUIRE(store->put(job, made).stored);
    settle();
    return made;
  }
  // Lets sealing end, and gives files the time at which they were first seen: theirs is the real
  // one.
  void settle() {
    while (store->maintain()) {
    }
    stamp();
  }
  void stamp() {
    for (const auto& entry : fs::recursive_directory_iterator(store->path())) {
      const std::string name = entry.path().filename();
      if (!entry.is_regular_file() || !name.starts_with("part-")) continue;
      const std::string path = entry.path().string();
      const auto [known, fresh] =
          times.try_emplace(path.substr(0, path.rfind(".db")), store->clock.wall_now());
      const struct timespec at[2] = {{known->second / kSecond, 0}, {known->second / kSecond, 0}};
      REQUIRE(::utimensat(AT_FDCWD, path.c_str(), at, 0) == 0);
    }
  }
  void reopen() {
    store->open();
    stamp();
  }
  void pass(std::chrono::nanoseconds time) { store->clock.advance(io, time); }
  void upkeep() {
    for (int i = 0; i < 50; ++i) {
      pass(seconds(6));
      settle();
    }
  }
  std::size_t parts() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(store->path())) {
      const std::string name = entry.path().filename();
      count += name.starts_with("part-") && name.ends_with(".db") ? 1 : 0;
    }
    return count;
  }
  const SqliteStorage& storage() { return store->storage(); }

  std::uint64_t free = 1ull << 40;
  boost::asio::io_context io;
  std::map<JobKey, std::uint64_t> ends;
  std::map<std::string, UnixNanos> times;
  std::unique_ptr<Store> store;
};

}  // namespace

TEST_CASE("Retention: within all limits nothing goes") {
  RetentionLimits limits;
  const std::vector<PartFile> parts{part("a", 0, 100, 10), part("a", 1, 100, 20, true)};
  CHECK(!next_retention_step(limits, parts, 0, 1000 * kSecond));
  limits.max_age = seconds(5000);
  limits.max_bytes = 200;
  limits.min_free = 10;
  CHECK(!next_retention_step(limits, parts, 10, 1000 * kSecond));
}

TEST_CASE("Retention: by age the oldest goes, also the last of a job that is over") {
  RetentionLimits limits;
  limits.max_age = seconds(100);
  std::vector<PartFile> parts{part("a", 3, 1, 50), part("a", 4, 1, 990, true),
                              part("b", 0, 1, 40, true)};
  const auto first = next_retention_step(limits, parts, {}, 1000 * kSecond);
  REQUIRE(first);
  CHECK(first->job == key_of("b"));
  CHECK(first->reason == RetentionReason::age);
  CHECK(!first->roll_first);
  parts.pop_back();
  const auto second = next_retention_step(limits, parts, {}, 1000 * kSecond);
  REQUIRE(second);
  CHECK(second->part == 3);
  parts.erase(parts.begin());
  CHECK(!next_retention_step(limits, parts, {}, 1000 * kSecond));
}

TEST_CASE(
    "Retention: for space sealed shards go first, then the largest that is written is rolled") {
  RetentionLimits limits;
  limits.max_bytes = 10u << 20;
  std::vector<PartFile> parts{part("a", 0, 20u << 20, 999, true), part("b", 0, 5u << 20, 998),
                              part("b", 1, 30u << 20, 999, true)};
  const auto first = next_retention_step(limits, parts, {}, 1000 * kSecond);
  REQUIRE(first);
  CHECK(first->job == key_of("b"));
  CHECK(first->part == 0);
  CHECK(first->reason == RetentionReason::bytes);
  parts.erase(parts.begin() + 1);
  const auto second = next_retention_step(limits, parts, {}, 1000 * kSecond);
  REQUIRE(second);
  CHECK(second->job == key_of("b"));
  CHECK(second->roll_first);
  limits.max_bytes = 0;
  limits.min_free = 100;
  const auto third = next_retention_step(limits, parts, 99, 1000 * kSecond);
  REQUIRE(third);
  CHECK(third->reason == RetentionReason::free_space);
}

TEST_CASE("Retention: never a newer shard of a job before an older one") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<PartFile> parts;
    for (int job = 0; job < 4; ++job) {
      const auto count = random() % 5;
      for (std::uint32_t n = 0; n < count; ++n) {
        parts.push_back(part("job" + std::to_string(job), n, 2u << 20,
                             static_cast<int>(random() % 1000), n + 1 == count));
      }
    }
    RetentionLimits limits;
    limits.max_bytes = 6u << 20;
    std::map<JobKey, std::uint32_t> next;
    for (int steps = 0; steps < 100; ++steps) {
      const auto step = next_retention_step(limits, parts, {}, 1000 * kSecond);
      if (!step) break;
      if (step->roll_first) {
        for (PartFile& one : parts) {
          if (one.job == step->job && one.part == step->part) one.newest = false;
        }
        parts.push_back(part(step->job.job, step->part + 1, 100, 1000, true));
        continue;
      }
      CHECK(step->part == next[step->job]++);
      std::erase_if(parts, [&](const PartFile& one) {
        return one.job == step->job && one.part == step->part;
      });
    }
    std::uint64_t left = 0;
    for (const PartFile& one : parts) left += one.bytes;
    CHECK(left <= limits.max_bytes);
  }
}

TEST_CASE("Retention: what was unlinked does not come back with a replay, and answers say so") {
  RetentionLimits limits;
  limits.max_age = hours(1);
  Aged aged(limits);
  const MadeBlock first = aged.put();
  aged.pass(minutes(50));
  const MadeBlock second = aged.put();
  const MadeBlock third = aged.put();
  aged.pass(minutes(20));
  aged.upkeep();
  CHECK(aged.storage().stats().retired == 2);  // it, and the empty one that came before it
  CHECK(aged.storage().stats().retired_bytes > 0);
  CHECK(aged.parts() == 2);
  const std::uint64_t losses = aged.storage().losses();

  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    CHECK(aged.store->all_lines(kJob).size() == 20);
    CHECK(aged.store->put(kJob, first).stored);  // a replay: nothing
    CHECK(aged.store->all_lines(kJob).size() == 20);
    const auto stored = aged.store->stored(kJob, kStream.base);
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].ranges == std::vector<Range>{{0, third.block.end}});
    CHECK(stored[0].head == "first line");
    const auto view = aged.store->snapshot(kJob);
    REQUIRE(view->streams().size() == 1);
    const StreamFacts& facts = view->streams()[0];
    REQUIRE(facts.gaps.size() == 1);
    CHECK(facts.gaps[0].reason == "retention");
    CHECK(facts.gaps[0].from == 0);
    CHECK(facts.gaps[0].to == first.block.end);
    CHECK(state_of(facts, std::nullopt).has_loss);
    CHECK(state_of(facts, std::nullopt).pending == 0);
    aged.reopen();  // all of it is durable
  }
  CHECK(aged.storage().losses() == losses);
  CHECK(aged.storage().stats().vanished == 0);
  CHECK(second.block.first == first.block.end);
}

TEST_CASE("Retention: a job that is wholly gone is not listed, is not opened again by a question") {
  RetentionLimits limits;
  limits.max_age = hours(1);
  Aged aged(limits);
  const MadeBlock only = aged.put();
  wire::Closed closed;
  closed.stream = kStream;
  closed.job = "run7";
  closed.size = only.block.end;
  closed.reason = "exited";
  REQUIRE(aged.store->apply(kJob, {closed}).ok());
  aged.settle();
  aged.pass(hours(2));
  aged.upkeep();
  CHECK(aged.parts() == 0);
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    const auto jobs = aged.store->run(
        [&](BlockingToken& token) { return aged.store->storage().jobs(token, "default"); });
    CHECK(jobs->empty());
    const auto view = aged.store->run(
        [&](BlockingToken& token) { return aged.store->storage().snapshot(token, kJob); });
    REQUIRE(!view.ok());
    CHECK(view.error().code() == ErrorCode::not_found);
    const auto stored = aged.store->stored(kJob, kStream.base);
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].closed);
    CHECK(stored[0].ranges == std::vector<Range>{{0, only.block.end}});
    CHECK(aged.parts() == 0);
    aged.reopen();
  }
  // An agent that lost its state: nothing of the old comes back, what is new is stored.
  CHECK(aged.store->put(kJob, only).stored);
  const MadeBlock more = make_block(kStream, "run7", numbered_lines(only.block.end, 5));
  CHECK(aged.store->put(kJob, more).stored);
  CHECK(aged.store->all_lines(kJob).size() == 5);
}

TEST_CASE("Retention: attempts stay what they were when their processes are gone") {
  RetentionLimits limits;
  limits.max_age = hours(1);
  Aged aged(limits);
  const auto process = [&](std::int32_t pid, UnixNanos start) {
    wire::Processes out;
    ProcessInfo info;
    info.host = "node1";
    info.pid = pid;
    info.start = start;
    info.exit = start + 100 * kSecond;
    info.last_seen = start + 100 * kSecond;
    info.job = "run7";
    info.rank = 0;
    out.processes.push_back(info);
    return out;
  };
  REQUIRE(aged.store->apply(kJob, {process(1, kStart)}).ok());
  aged.put();
  aged.pass(hours(2));
  REQUIRE(aged.store->apply(kJob, {process(2, kStart + 7000 * kSecond)}).ok());
  aged.put();
  aged.upkeep();
  CHECK(aged.storage().stats().retired > 0);
  const auto view = aged.store->snapshot(kJob);
  REQUIRE(view->processes().size() == 2);
  CHECK(view->processes()[0].attempt == 0);
  CHECK(view->processes()[1].attempt == 1);
}

TEST_CASE("Retention: killed between the catalogue and the unlinking, it is done again") {
  StorageLimits limits;
  limits.max_part_bytes = 1;
  limits.min_free_bytes = 0;
  limits.retention.max_age = hours(1);
  Aged aged;
  const MadeBlock first = aged.put();
  aged.pass(hours(2));
  aged.put();
  aged.reopen();  // so that all of it is in the files
  std::vector<fs::path> shards;
  for (const auto& entry : fs::recursive_directory_iterator(aged.store->path())) {
    const std::string name = entry.path().filename();
    if (name == "part-0.db" || name == "part-1.db") shards.push_back(entry.path());
  }
  REQUIRE(shards.size() == 2);  // an empty one, and that of the first block
  for (const fs::path& shard : shards) {
    fs::copy_file(shard, aged.store->path() + "/kept-" + shard.filename().string());
  }
  aged.store->storage().set_limits(limits);
  aged.upkeep();
  aged.store->close();
  for (const fs::path& shard : shards) {
    REQUIRE(!fs::exists(shard));
    // As if it had never been unlinked.
    fs::rename(aged.store->path() + "/kept-" + shard.filename().string(), shard);
  }
  aged.reopen();
  CHECK(aged.store->all_lines(kJob).size() == 20);
  CHECK(aged.store->put(kJob, first).stored);
  CHECK(aged.store->all_lines(kJob).size() == 20);
  CHECK(aged.store->snapshot(kJob)->streams()[0].gaps.empty());
  aged.settle();
  aged.store->storage().set_limits(limits);
  aged.upkeep();
  CHECK(aged.store->all_lines(kJob).size() == 10);
}

TEST_CASE("Retention: a reader goes on with what was unlinked under it") {
  RetentionLimits limits;
  limits.max_bytes = 1;
  Aged aged;
  aged.put();
  aged.put();
  auto view = aged.store->snapshot(kJob);
  const auto blocks = aged.store->candidates(*view);
  REQUIRE(blocks.size() == 2);
  StorageLimits wanted;
  wanted.max_part_bytes = 1;
  wanted.min_free_bytes = 0;
  wanted.retention = limits;
  aged.store->storage().set_limits(wanted);
  aged.pass(hours(1));
  aged.upkeep();
  CHECK(aged.parts() == 0);
  for (const BlockRef& block : blocks) CHECK(aged.store->lines(*view, block).size() == 10);
}

TEST_CASE("case 98: Retention: below its limit of free space the oldest shards go, and no more") {
  RetentionLimits limits;
  limits.min_free = 1000;
  Aged aged(limits);
  for (int i = 0; i < 5; ++i) aged.put();
  aged.pass(hours(1));
  aged.free = 999;
  aged.upkeep();
  // Readers may keep the room for a while: what was unlinked counts as free until then.
  const std::uint64_t first = aged.storage().stats().retired;
  CHECK(first >= 1);
  CHECK(first <= 5);
  aged.free = 2000;
  aged.upkeep();
  CHECK(aged.storage().stats().retired == first);
}

TEST_CASE("Storage: a part is rolled when it is old, also when it is small") {
  SqliteStorageOptions options;
  options.jobs.max_part_age = hours(24);
  Store store(options);
  boost::asio::io_context io;
  const MadeBlock first = make_block(kStream, "run7", numbered_lines(0, 5));
  CHECK(store.put(kJob, first).stored);
  store.clock.advance(io, hours(23));
  const MadeBlock second = make_block(kStream, "run7", numbered_lines(first.block.end, 5));
  CHECK(store.put(kJob, second).stored);
  store.maintain();
  CHECK(store.storage().stats().shards == 1);
  store.clock.advance(io, hours(2));
  const MadeBlock third = make_block(kStream, "run7", numbered_lines(second.block.end, 5));
  CHECK(store.put(kJob, third).stored);
  store.maintain();
  CHECK(store.storage().stats().shards == 2);
  CHECK(store.all_lines(kJob).size() == 15);
}

TEST_CASE("Storage: the history of a host's clock is kept, per tenant, and forgotten when old") {
  Store store;
  boost::asio::io_context io;
  const auto history = [&](const std::string& tenant, const std::string& host) {
    return *store.run(
        [&](BlockingToken& token) { return store.storage().clock_history(token, tenant, host); });
  };
  const auto reading = [&](const std::string& host, std::int64_t offset) {
    HostClock one;
    one.tenant = "default";
    one.host = host;
    one.reading = ClockReading{store.clock.wall_now(), offset, 1000};
    return one;
  };
  const auto add = [&](const std::vector<HostClock>& readings) {
    return store.run(
        [&](BlockingToken& token) { return store.storage().add_clock_readings(token, readings); });
  };
  REQUIRE(add({reading("node1", 5), reading("node2", -7)}).ok());
  store.clock.advance(io, hours(1));
  REQUIRE(add({reading("node1", 6)}).ok());
  store.open();
  REQUIRE(history("default", "node1").size() == 2);
  CHECK(history("default", "node1")[0].offset == 5);
  CHECK(history("default", "node1")[1].offset == 6);
  CHECK(history("default", "node2").size() == 1);
  CHECK(history("other", "node1").empty());
  store.clock.advance(io, hours(24 * 31));
  store.maintain();
  CHECK(history("default", "node1").empty());
}

}  // namespace logarithm::aggregator::test
