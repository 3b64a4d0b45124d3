#include "aggregator/store/schema.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "aggregator/store/catalogue.h"
#include "tests/unit/aggregator/store/made_store.h"

namespace logarithm::aggregator::test {
namespace {

const JobKey kJob = key_of("run7");

// A catalogue as version 1 made it, with a job of two parts.
constexpr const char* kCatalogue1 = R"sql(
CREATE TABLE jobs(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, job TEXT NOT NULL,
  UNIQUE(tenant, job));
CREATE TABLE parts(
  job INTEGER NOT NULL, part INTEGER NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY(job, part)) WITHOUT ROWID;
CREATE TABLE streams(
  job INTEGER NOT NULL, base_hi INTEGER NOT NULL, base_lo INTEGER NOT NULL,
  generation INTEGER NOT NULL, part INTEGER NOT NULL,
  PRIMARY KEY(base_hi, base_lo, generation, job, part)) WITHOUT ROWID;
CREATE TABLE ranges(
  job INTEGER NOT NULL, part INTEGER NOT NULL, base_hi INTEGER NOT NULL,
  base_lo INTEGER NOT NULL, generation INTEGER NOT NULL, first INTEGER NOT NULL,
  end INTEGER NOT NULL,
  PRIMARY KEY(job, part, base_hi, base_lo, generation, first)) WITHOUT ROWID;
INSERT INTO jobs VALUES(7, 'default', 'run7');
INSERT INTO parts VALUES(7, 0, 'open'), (7, 1, 'open');
INSERT INTO streams VALUES(7, 1, 2, 0, 0), (7, 1, 2, 0, 1);
PRAGMA user_version=1;
)sql";

struct Files {
  std::unique_ptr<Database> open(const std::string& name) {
    auto database = pool.run_and_wait([&](BlockingToken& token) {
      return Database::open(token, dir.file(name), Database::Options());
    });
    REQUIRE(database.ok());
    return std::move(*database);
  }
  Status exec(Database& database, const std::string& sql) {
    return pool.run_and_wait([&](BlockingToken& token) { return database.exec(token, sql); });
  }
  std::int64_t number(Database& database, std::string_view sql) {
    const auto found =
        pool.run_and_wait([&](BlockingToken& token) { return database.number(token, sql); });
    REQUIRE(found.ok());
    return found->value_or(-1);
  }
  Status run(Database& database, const std::vector<std::string>& migrations) {
    return pool.run_and_wait(
        [&](BlockingToken& token) { return migrate(token, database, migrations); });
  }
  logarithm::test::TempDir dir;
  WorkerPool pool{1};
};

}  // namespace

TEST_CASE("Schema: a catalogue of the first version is migrated, and what it knew stays") {
  Files files;
  {
    const auto old = files.open("catalogue.db");
    REQUIRE(files.exec(*old, kCatalogue1).ok());
  }
  const auto catalogue = files.pool.run_and_wait(
      [&](BlockingToken& token) { return Catalogue::open(token, files.dir.file("catalogue.db")); });
  REQUIRE(catalogue.ok());
  const auto job = (*catalogue)->find(kJob);
  REQUIRE(job.ok());
  CHECK(job->parts == std::set<std::uint32_t>{0, 1});
  const auto jobs = files.pool.run_and_wait([&](BlockingToken& token) {
    return (*catalogue)->jobs_of(token, "default", StreamId{StreamBase{1, 2}, 0});
  });
  CHECK(*jobs == std::vector<JobKey>{kJob});
  const auto retained = files.pool.run_and_wait(
      [&](BlockingToken& token) { return (*catalogue)->retained(token, *job); });
  REQUIRE(retained.ok());
  CHECK(retained->empty());
  const auto database = files.open("catalogue.db");
  CHECK(files.number(*database, "PRAGMA user_version") == kCatalogueSchema);
}

TEST_CASE("Schema: migrations run in order, only those that are missing") {
  Files files;
  const auto database = files.open("x.db");
  const std::vector<std::string> one{"CREATE TABLE a(x); INSERT INTO a VALUES(1);"};
  REQUIRE(files.run(*database, one).ok());
  const std::vector<std::string> three{one[0], "INSERT INTO a VALUES(2);",
                                       "INSERT INTO a SELECT max(x)+1 FROM a;"};
  REQUIRE(files.run(*database, three).ok());
  CHECK(files.number(*database, "SELECT count(*) FROM a") == 3);
  CHECK(files.number(*database, "SELECT max(x) FROM a") == 3);
  CHECK(files.number(*database, "PRAGMA user_version") == 3);
  REQUIRE(files.run(*database, three).ok());
  CHECK(files.number(*database, "SELECT count(*) FROM a") == 3);
}

TEST_CASE("Schema: a migration that fails leaves the file what it was") {
  Files files;
  const auto database = files.open("x.db");
  const std::string first = "CREATE TABLE a(x); INSERT INTO a VALUES(1);";
  REQUIRE(files.run(*database, {first}).ok());
  CHECK(!files.run(*database, {first, "INSERT INTO a VALUES(2);", "INSERT INTO none VALUES(1);"})
             .ok());
  CHECK(files.number(*database, "SELECT count(*) FROM a") == 1);
  CHECK(files.number(*database, "PRAGMA user_version") == 1);
  CHECK(!database->in_transaction());
}

TEST_CASE("Schema: a file of a newer program is refused by name and left alone") {
  Files files;
  const auto database = files.open("x.db");
  REQUIRE(files.exec(*database, "CREATE TABLE a(x); PRAGMA user_version=9;").ok());
  const Status refused = files.run(*database, {"CREATE TABLE b(x);"});
  REQUIRE(!refused.ok());
  CHECK(refused.error().code() == ErrorCode::unavailable);
  CHECK(refused.error().message().find("x.db") != std::string::npos);
  CHECK(refused.error().message().find("newer") != std::string::npos);
  CHECK(files.number(*database, "PRAGMA user_version") == 9);
}

TEST_CASE("Schema: a shard of a newer program is not moved aside, and the others are served") {
  Store store;
  const StreamId stream = stream_of("rank 0");
  REQUIRE(store.put(kJob, make_block(stream, "run7", numbered_lines(0, 5))).stored);
  REQUIRE(store.put(key_of("other"), make_block(stream, "other", numbered_lines(0, 7))).stored);
  const std::string shard = store.path() + "/" + to_text(hash_base("default")) + "/" +
                            to_text(hash_base("run7")) + "/part-0.db";
  store.close();
  {
    WorkerPool pool(1);
    const Status changed = pool.run_and_wait([&](BlockingToken& token) -> Status {
      LGR_TRY(auto database, Database::open(token, shard, Database::Options()));
      return database->exec(token, "PRAGMA user_version=" + std::to_string(kShardSchema + 1));
    });
    REQUIRE(changed.ok());
  }
  store.open();
  CHECK(store.storage().stats().quarantined == 0);
  CHECK(store.all_lines(key_of("other")).size() == 7);
  CHECK(std::filesystem::exists(shard));
  const auto view =
      store.run([&](BlockingToken& token) { return store.storage().snapshot(token, kJob); });
  REQUIRE(!view.ok());
  CHECK(view.error().message().find("newer") != std::string::npos);
}

}  // namespace logarithm::aggregator::test
