#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

// Zeros the first page of a table of a closed database.
void damage_table(Store& helper, const std::string& path, const std::string& table) {
  std::int64_t page = 0, size = 0;
  helper.run([&](BlockingToken& token) {
    auto database = Database::open(token, path, Database::Options{});
    REQUIRE(database.ok());
    for (const auto& [sql, value] :
         {std::pair("SELECT rootpage FROM sqlite_master WHERE name='" + table + "'", &page),
          std::pair(std::string("PRAGMA page_size"), &size)}) {
      auto row = (*database)->prepare(sql);
      REQUIRE(row.ok());
      REQUIRE(*row->step(token));
      *value = row->integer(0);
    }
    return 0;
  });
  REQUIRE(page > 1);
  std::FILE* file = std::fopen(path.c_str(), "r+");
  REQUIRE(std::fseek(file, (page - 1) * size, SEEK_SET) == 0);
  const std::string garbage(static_cast<std::size_t>(size), '\xA5');
  REQUIRE(std::fwrite(garbage.data(), 1, garbage.size(), file) == garbage.size());
  std::fclose(file);
}

std::string part_of(const std::string& root, const std::string& job, int part) {
  return root + "/" + to_text(hash_base("default")) + "/" + to_text(hash_base(job)) + "/part-" +
         std::to_string(part) + ".db";
}

TEST_CASE("Storage: a damaged shard is moved aside and the others are served") {
  Store store;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  REQUIRE(store.put(key_of("other"), make_block(kStream, "other", numbered_lines(0, 7))).stored);
  namespace fs = std::filesystem;
  const std::string damaged = store.path() + "/" + to_text(hash_base("default")) + "/" +
                              to_text(hash_base("run7")) + "/part-0.db";
  REQUIRE(fs::exists(damaged));
  store.storage().stats();
  SqliteStorageOptions options;
  {
    // A copy of the directory, damaged: the store still has the original open.
    Store other;
    fs::copy(store.path(), other.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const std::string copy = other.path() + damaged.substr(store.path().size());
    fs::remove(copy + "-wal");
    fs::remove(copy + "-shm");
    std::FILE* file = std::fopen(copy.c_str(), "w");
    for (int i = 0; i < 5000; ++i) std::fputs("damaged ", file);
    std::fclose(file);
    fs::remove(other.path() + "/catalogue.db-wal");
    fs::remove(other.path() + "/catalogue.db-shm");
    other.open();

    CHECK(fs::exists(copy + ".bad"));
    CHECK(other.storage().counters().quarantined.load() == 1);
    CHECK(other.all_lines(key_of("other")).size() == 7);
    CHECK(other.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
    CHECK(other.all_lines(kJob).size() == 5);
  }
}

TEST_CASE("Storage: a shard whose streams cannot be read is moved aside, and ingest goes on") {
  logarithm::test::TempDir directory;
  {
    Store store({}, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  }
  Store helper;
  damage_table(helper, part_of(directory.path(), "run7", 0), "sqlite_autoindex_streams_1");
  Store store({}, directory.path());
  CHECK(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  CHECK(store.all_lines(kJob).size() == 5);
  CHECK(std::filesystem::exists(part_of(directory.path(), "run7", 0) + ".bad"));
}

TEST_CASE("Storage: damage in an older part moves that one aside, not the newest") {
  logarithm::test::TempDir directory;
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 1;  // every batch begins a new part
  const auto first = numbered_lines(0, 5), second = numbered_lines(first.back().end(), 7),
             third = numbered_lines(second.back().end(), 9);
  {
    Store store(options, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", first)).stored);
    REQUIRE(store.put(kJob, make_block(kStream, "run7", second)).stored);
  }
  namespace fs = std::filesystem;
  const std::string older = part_of(directory.path(), "run7", 1);
  REQUIRE(fs::exists(part_of(directory.path(), "run7", 2)));
  Store helper;
  damage_table(helper, older, "ranges");
  options.jobs.max_part_bytes = UINT64_MAX;
  Store store(options, directory.path());
  const MadeBlock block = make_block(kStream, "run7", third);
  std::vector<IngestItem> items;
  items.push_back(info_of(kStream, "run7"));
  items.push_back(block.templates);
  items.push_back(block.block);
  CHECK_FALSE(store.apply(kJob, items).ok());
  CHECK(store.apply(kJob, items).ok());
  CHECK(fs::exists(older + ".bad"));
  CHECK(store.storage().counters().quarantined.load() == 1);
  CHECK(store.all_lines(kJob).size() == second.size() + third.size());
}

TEST_CASE("Storage: a shard that cannot be opened now is not moved aside") {
  logarithm::test::TempDir directory;
  {
    Store store({}, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  }
  namespace fs = std::filesystem;
  const std::string part = part_of(directory.path(), "run7", 0);
  fs::remove(part + "-wal");
  fs::create_directory(part + "-wal");  // SQLite cannot open it
  Store store({}, directory.path());
  CHECK(fs::exists(part));
  CHECK(store.storage().counters().quarantined.load() == 0);
  fs::remove(part + "-wal");
  CHECK(store.all_lines(kJob).size() == 5);
}

TEST_CASE("Storage: a lost catalogue is rebuilt from the shards") {
  Store store;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  Store other;
  namespace fs = std::filesystem;
  store.run([&](BlockingToken&) {
    fs::copy(store.path(), other.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      fs::remove(other.path() + "/catalogue.db" + suffix);
    }
    return 0;
  });
  other.open();

  CHECK(other.all_lines(kJob).size() == 5);
  CHECK(other
            .run([&](BlockingToken& token) {
              return other.storage().job_of(token, "default", kStream);
            })
            ->job == "run7");
}

}  // namespace
}  // namespace logarithm::aggregator::test
