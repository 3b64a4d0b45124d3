#include "aggregator/store/sqlite.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::aggregator {
namespace {

// Runs `body(token, database)` on a fresh database.
template <typename Body>
void with_database(const Database::Options& options, Body body) {
  logarithm::test::TempDir directory;
  WorkerPool worker(1);
  worker.run_and_wait([&](BlockingToken& token) {
    auto database = Database::open(token, directory.file("x.db"), options);
    REQUIRE(database.ok());
    body(token, **database);
    return 0;
  });
}

TEST_CASE("Database: NaN, infinities, NUL bytes and empty blobs come back as they were") {
  with_database({}, [](BlockingToken& token, Database& database) {
    REQUIRE(database.exec(token, "CREATE TABLE t(a BLOB, b TEXT, c BLOB, d BLOB)").ok());
    const std::string text("a\0b", 3);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    REQUIRE(database
                .run(token, "INSERT INTO t VALUES(?, ?, ?, ?)", nan, text, Blob{""},
                     -std::numeric_limits<double>::infinity())
                .ok());

    auto row = database.prepare("SELECT a, b, c, d FROM t");
    REQUIRE(row.ok());
    REQUIRE(*row->step(token));

    CHECK(std::isnan(row->float64(0)));
    CHECK(row->bytes(1) == text);
    CHECK_FALSE(row->is_null(2));
    CHECK(row->float64(3) == -std::numeric_limits<double>::infinity());
  });
}

TEST_CASE("Database: unsigned 64-bit values keep their bit pattern") {
  with_database({}, [](BlockingToken& token, Database& database) {
    REQUIRE(database.exec(token, "CREATE TABLE t(a INTEGER)").ok());
    const std::uint64_t big = std::numeric_limits<std::uint64_t>::max() - 5;
    REQUIRE(database.run(token, "INSERT INTO t VALUES(?)", big).ok());

    auto value = database.number(token, "SELECT a FROM t");

    REQUIRE(value.ok());
    CHECK(static_cast<std::uint64_t>(**value) == big);
  });
}

TEST_CASE("Transaction: without commit nothing is stored") {
  with_database({}, [](BlockingToken& token, Database& database) {
    REQUIRE(database.exec(token, "CREATE TABLE t(a INTEGER)").ok());
    {
      auto transaction = Transaction::begin(token, database);
      REQUIRE(transaction.ok());
      REQUIRE(database.run(token, "INSERT INTO t VALUES(1)").ok());
    }

    CHECK_FALSE(database.in_transaction());
    CHECK(database.number(token, "SELECT count(*) FROM t")->value() == 0);
  });
}

TEST_CASE("case 98: Database: a full disk is no_space, rolls back whole and heals by itself") {
  Database::Options options;
  options.max_pages = 12;
  with_database(options, [](BlockingToken& token, Database& database) {
    REQUIRE(database.exec(token, "CREATE TABLE t(a BLOB)").ok());
    const std::string big(30'000, 'x');
    Status status;
    for (int i = 0; i < 10 && status.ok(); ++i) {
      auto transaction = Transaction::begin(token, database);
      REQUIRE(transaction.ok());
      status = database.run(token, "INSERT INTO t VALUES(?)", Blob{big});
      if (status.ok()) status = transaction->commit();
    }
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code() == ErrorCode::no_space);
    CHECK_FALSE(database.in_transaction());

    REQUIRE(database.exec(token, "PRAGMA max_page_count=1000").ok());
    CHECK(database.run(token, "INSERT INTO t VALUES(?)", Blob{big}).ok());
  });
}

TEST_CASE("case 95: Database: a second writer waits, then is told unavailable") {
  logarithm::test::TempDir directory;
  WorkerPool worker(1);
  worker.run_and_wait([&](BlockingToken& token) {
    Database::Options options;
    options.busy_timeout = std::chrono::milliseconds(1);
    auto one = Database::open(token, directory.file("x.db"), options);
    auto two = Database::open(token, directory.file("x.db"), options);
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    auto held = Transaction::begin(token, **one);
    REQUIRE(held.ok());

    auto second = Transaction::begin(token, **two);

    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code() == ErrorCode::unavailable);
    return 0;
  });
}

TEST_CASE("Database: a file that is no database is corrupt") {
  logarithm::test::TempDir directory;
  {
    std::FILE* file = std::fopen(directory.file("x.db").c_str(), "w");
    for (int i = 0; i < 1000; ++i) std::fputs("not a database ", file);
    std::fclose(file);
  }
  WorkerPool worker(1);
  auto opened = worker.run_and_wait([&](BlockingToken& token) {
    return Status(Database::open(token, directory.file("x.db"), {}).error());
  });
  CHECK(opened.error().code() == ErrorCode::corrupt);
}

}  // namespace
}  // namespace logarithm::aggregator
