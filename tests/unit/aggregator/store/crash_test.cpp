#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

std::vector<MadeBlock> many_blocks() {
  std::vector<MadeBlock> blocks;
  std::uint64_t offset = 0;
  for (int i = 0; i < 120; ++i) {
    const auto lines = numbered_lines(offset, 5, "word" + std::to_string(i % 7));
    offset = lines.back().end();
    blocks.push_back(make_block(kStream, "run7", lines));
  }
  return blocks;
}

// Stores block after block, says so after each one, seals now and then. Never returns.
[[noreturn]] void store_until_killed(const std::string& path, const std::vector<MadeBlock>& blocks,
                                     int acks) {
  WorkerPool worker(1);
  logarithm::test::ManualClock clock;
  worker.run_and_wait([&](BlockingToken& token) {
    SqliteStorageOptions options;
    options.data_dir = path;
    auto storage = SqliteStorage::open(token, options, clock);
    for (std::size_t i = 0; storage.ok() && i < blocks.size(); ++i) {
      std::vector<IngestItem> items;
      items.push_back(info_of(kStream, "run7"));
      items.push_back(blocks[i].templates);
      items.push_back(blocks[i].block);
      auto outcomes = (*storage)->apply(token, kJob, items);
      if (!outcomes.ok() || !outcomes->back().stored) break;
      if (::write(acks, "x", 1) != 1) break;
      if (i % 20 == 19) static_cast<void>((*storage)->maintain(token).ok());
    }
    return 0;
  });
  ::_exit(1);
}

TEST_CASE("Storage: after SIGKILL every acknowledged block is there and a replay completes it") {
  const auto blocks = many_blocks();
  for (int kill_after : {1, 19, 57}) {
    logarithm::test::TempDir directory;
    int acks[2];
    REQUIRE(::pipe(acks) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(acks[0]);
      store_until_killed(directory.path(), blocks, acks[1]);
    }
    ::close(acks[1]);
    std::size_t acked = 0;
    char byte = 0;
    while (acked < static_cast<std::size_t>(kill_after) && ::read(acks[0], &byte, 1) == 1) ++acked;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(acks[0], &byte, 1) == 1) ++acked;
    ::close(acks[0]);
    REQUIRE(acked >= static_cast<std::size_t>(kill_after));

    Store store({}, directory.path());
    const auto ranges = store.stored(kJob, kStream.base)[0].ranges;
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].end >= blocks[acked - 1].block.end);
    std::vector<IngestItem> again;
    for (const MadeBlock& block : blocks) {
      again.push_back(block.templates);
      again.push_back(block.block);
    }
    auto outcomes = store.apply(kJob, std::move(again));
    REQUIRE(outcomes.ok());
    for (const IngestOutcome& outcome : *outcomes) REQUIRE(outcome.stored);
    CHECK(store.all_lines(kJob).size() == blocks.size() * 5);
  }
}

}  // namespace
}  // namespace logarithm::aggregator::test
