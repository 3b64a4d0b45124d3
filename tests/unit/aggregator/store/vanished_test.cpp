#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "tests/unit/aggregator/store/made_store.h"

// Files that somebody deletes or replaces under the running program.
namespace logarithm::aggregator::test {
namespace {

namespace fs = std::filesystem;
const JobKey kJob = key_of("run7");
const StreamId kStream = stream_of("rank 0");

std::vector<fs::path> files_of(const Store& store, const std::string& end) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(store.path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("part-") && name.ends_with(end)) out.push_back(entry.path());
  }
  return out;
}

MadeBlock block_at(std::uint64_t offset) {
  return make_block(kStream, "run7", numbered_lines(offset, 10));
}

}  // namespace

TEST_CASE("Storage: what is written after the files went away is stored where it will be found") {
  Store store;
  const MadeBlock first = block_at(0), second = block_at(first.block.end);
  REQUIRE(store.put(kJob, first).stored);
  const std::uint64_t before = store.storage().losses();
  std::size_t quarantined = 0;
  SUBCASE("the shard was unlinked") { fs::remove(files_of(store, ".db").at(0)); }
  SUBCASE("the shard and its WAL were unlinked") {
    fs::remove(files_of(store, ".db").at(0));
    fs::remove(files_of(store, "-wal").at(0));
    fs::remove(files_of(store, "-shm").at(0));
  }
  SUBCASE("the WAL was unlinked") {
    fs::remove(files_of(store, "-wal").at(0));
    quarantined = 1;
  }
  SUBCASE("the job's directory was deleted") {
    fs::remove_all(files_of(store, ".db").at(0).parent_path());
  }
  SUBCASE("the data directory was deleted") { fs::remove_all(store.path()); }
  SUBCASE("the shard was replaced by something else") {
    const fs::path path = files_of(store, ".db").at(0);
    fs::remove(path);
    fs::copy_file("/proc/self/exe", path);
    quarantined = 1;
  }

  REQUIRE(store.put(kJob, second).stored);

  CHECK(store.storage().losses() > before);
  CHECK(store.storage().stats().vanished == 1);
  const auto stored = store.stored(kJob, kStream.base);
  REQUIRE(stored.size() == 1);
  CHECK(stored[0].ranges == std::vector<Range>{{second.block.first, second.block.end}});
  // The agent sends again what it was told that is not there.
  REQUIRE(store.put(kJob, first).stored);
  CHECK(files_of(store, ".bad").size() == quarantined);
  const auto lines = store.all_lines(kJob);
  CHECK(lines.size() == 20);
  store.open();
  CHECK(store.all_lines(kJob) == lines);
}

TEST_CASE("Storage: a shard that was replaced by an older copy of itself is what is stored") {
  Store store;
  const MadeBlock first = block_at(0), second = block_at(first.block.end);
  REQUIRE(store.put(kJob, first).stored);
  store.open();  // the WAL is in the database now
  store.open();
  const fs::path path = files_of(store, ".db").at(0);
  const std::string copy = store.path() + "/copy";
  fs::copy_file(path, copy);
  REQUIRE(store.put(kJob, second).stored);
  fs::remove(path);
  fs::copy_file(copy, path);

  const auto stored = store.put(kJob, second);

  CHECK(stored.stored);
  CHECK(store.all_lines(kJob).size() == 20);
  CHECK(store.storage().losses() > 0);
}

TEST_CASE("Storage: upkeep finds what went away when nobody writes, open or not") {
  Store store;
  REQUIRE(store.put(kJob, block_at(0)).stored);
  SUBCASE("the job is open") {}
  SUBCASE("the job is not open") {
    SqliteStorageOptions options;
    options.max_open_jobs = 1;
    Store other(options, store.path() + "/other");
    REQUIRE(other.put(kJob, block_at(0)).stored);
    REQUIRE(other.put(key_of("b"), make_block(kStream, "b", numbered_lines(0, 3))).stored);
    const std::uint64_t before = other.storage().losses();
    for (const fs::path& path : files_of(other, ".db")) fs::remove(path);
    other.maintain();
    CHECK(other.storage().losses() > before);
    CHECK(other.storage().stats().vanished == 2);
    return;
  }
  const std::uint64_t before = store.storage().losses();
  fs::remove(files_of(store, ".db").at(0));

  store.maintain();

  CHECK(store.storage().losses() > before);
  CHECK(store.stored(kJob, kStream.base).empty());
  const std::uint64_t once = store.storage().losses();
  store.maintain();
  CHECK(store.storage().losses() == once);
}

TEST_CASE("Storage: a shard that was deleted while the program was down is counted and let go") {
  Store store;
  REQUIRE(store.put(kJob, block_at(0)).stored);
  const fs::path path = files_of(store, ".db").at(0);
  store.close();
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix);

  store.open();

  CHECK(store.storage().stats().vanished == 1);
  CHECK(store.stored(kJob, kStream.base).empty());
  CHECK(store.put(kJob, block_at(0)).stored);
}

TEST_CASE("Storage: a damaged shard that a write finds counts as a loss") {
  Store store;
  REQUIRE(store.put(kJob, block_at(0)).stored);
  const fs::path path = files_of(store, ".db").at(0);
  store.close();
  fs::resize_file(path, 3000);

  store.open();
  CHECK(store.storage().losses() > 0);
  CHECK(store.storage().stats().quarantined == 1);
  CHECK(store.storage().stats().vanished == 0);
}

TEST_CASE("Storage: a gap outside of the stored ranges is told to the agent as lost") {
  Store store;
  const MadeBlock first = block_at(0);
  REQUIRE(store.put(kJob, first).stored);
  wire::GapReport report;
  report.stream = kStream;
  report.job = "run7";
  report.gap = Gap{first.block.end, first.block.end + 50, "refused", 1};
  wire::GapReport open = report;
  open.gap = Gap{first.block.end + 500, std::nullopt, "truncated", 1};
  wire::GapReport inside = report;
  inside.gap = Gap{3, 9, "nul_hole", 1};
  REQUIRE(store.apply(kJob, {report, open, inside}).ok());

  const auto stored = store.stored(kJob, kStream.base);

  REQUIRE(stored.size() == 1);
  CHECK(stored[0].lost == std::vector<Range>{{first.block.end, first.block.end + 50}});
}

TEST_CASE("Storage: plain lines whose fingerprint has another text are stored, found and sealed") {
  Store store;
  const MadeBlock templated = block_at(0);
  wire::Templates other = templated.templates;
  REQUIRE(!other.templates.empty());
  other.templates[0].text = "another text";
  REQUIRE(store.apply(kJob, {info_of(kStream, "run7"), other}).ok());
  std::uint64_t at = 0;
  std::size_t lines = 0;
  for (int i = 0; i < 20; ++i) {
    BlockWriter writer(kStream, 1);
    writer.set_plain(true);
    for (const Line& line : numbered_lines(at, 10)) writer.add(line);
    auto encoded = writer.finish(0);
    REQUIRE(encoded.ok());
    CHECK(encoded->templates.empty());
    MadeBlock plain;
    plain.block.stream = kStream;
    plain.block.job = "run7";
    plain.block.first = encoded->header.first;
    plain.block.end = encoded->header.end;
    plain.block.bytes = std::move(encoded->bytes);
    REQUIRE(store.put(kJob, plain).stored);
    at = plain.block.end;
    lines += 10;
  }
  const auto before = store.all_lines(kJob);
  CHECK(before.size() == lines);

  while (store.maintain()) {
  }

  CHECK(store.all_lines(kJob) == before);
  CHECK(store.storage().counters().unmergeable_runs == 0);
  CHECK(store.storage().counters().sealed_runs > 0);
}

}  // namespace logarithm::aggregator::test
