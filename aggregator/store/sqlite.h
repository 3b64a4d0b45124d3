#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/async/blocking.h"
#include "common/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// The only door to SQLite. Errors: SQLITE_FULL -> no_space, CORRUPT and NOTADB -> corrupt, BUSY and
// LOCKED -> unavailable, INTERRUPT -> cancelled, CONSTRAINT -> conflict, else io; the message names
// the extended code.
namespace logarithm::aggregator {

// Bytes bound as a BLOB. (A string_view is bound as TEXT, both with their explicit length.)
struct Blob {
  std::string_view bytes;
};

class Database;

// One prepared statement, borrowed from its database's cache and given back (reset) when destroyed.
// Must not outlive its database. Bind errors show at the next step().
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Parameters are numbered from 1. Unsigned values are stored as their int64 bit pattern, doubles
  // as 8 raw bytes (SQLite turns a bound NaN into NULL). Text and blobs are not copied: they must
  // live until reset().
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, int value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::uint32_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::string_view text);
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, Blob blob);
  void bind(int index, double value);
  void bind(int index, std::nullopt_t);
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind(index, std::nullopt);
  }
  template <typename... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }

  // True when there is a row. The columns' views are valid until the next step() or reset().
  Result<bool> step(BlockingToken&);
  // Steps to the end.
  Status run(BlockingToken&);
  void reset();

  // Columns are numbered from 0.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::uint64_t u64(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::uint32_t u32(int column) const { return static_cast<std::uint32_t>(integer(column)); }
  std::int32_t i32(int column) const { return static_cast<std::int32_t>(integer(column)); }
  std::string_view bytes(int column) const;
  double float64(int column) const;  // of 8 raw bytes; 0 when it is anything else
  std::optional<std::int64_t> maybe_integer(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* handle, std::string_view sql);
  void note(int code);

  Database* database_;
  sqlite3_stmt* handle_;
  std::string_view sql_;
  int failed_ = 0;
};

// One connection. Used by one thread at a time; interrupt() from any thread.
class Database {
 public:
  struct Options {
    bool read_only = false;
    bool durable = true;  // synchronous=FULL
    std::chrono::milliseconds busy_timeout{5000};
    std::int64_t max_pages = 0;  // 0: no limit (for tests of a full disk)
  };

  // Opens (and unless read_only, creates) a database in WAL mode.
  static Result<std::unique_ptr<Database>> open(BlockingToken&, const std::string& path,
                                                const Options& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `sql` must be a literal or otherwise outlive the database: it is the key of the cache.
  Result<Statement> prepare(std::string_view sql);
  // Prepares, binds, steps to the end.
  template <typename... Values>
  Status run(BlockingToken& token, std::string_view sql, const Values&... values) {
    LGR_TRY(Statement statement, prepare(sql));
    statement.bind_all(values...);
    return statement.run(token);
  }
  // The first column of the first row, nullopt without a row (or for NULL).
  template <typename... Values>
  Result<std::optional<std::int64_t>> number(BlockingToken& token, std::string_view sql,
                                             const Values&... values) {
    LGR_TRY(Statement statement, prepare(sql));
    statement.bind_all(values...);
    LGR_TRY(bool row, statement.step(token));
    if (!row) return std::optional<std::int64_t>();
    return statement.maybe_integer(0);
  }
  // Runs several statements separated by ';'.
  Status exec(BlockingToken&, const std::string& sql);

  // Makes what runs now end with Error{cancelled}.
  void interrupt();
  std::int64_t last_rowid() const;
  std::int64_t changes() const;
  bool in_transaction() const;
  // Ends a read transaction; does not block.
  Status end_read();
  // Moves the WAL into the database as far as readers allow; never fails for being busy.
  Status checkpoint(BlockingToken&);

  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  struct Impl;
  Database(std::string path, std::unique_ptr<Impl> impl);
  void give_back(std::string_view sql, sqlite3_stmt* handle);
  Error error(int code, std::string_view what) const;

  std::string path_;
  std::unique_ptr<Impl> impl_;
};

// BEGIN IMMEDIATE … COMMIT; rolls back when it was not committed.
class Transaction {
 public:
  static Result<Transaction> begin(BlockingToken&, Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // Durable when it returns success (with Options::durable). After an error nothing of it is
  // stored.
  Status commit();

 private:
  Transaction(Database& database, BlockingToken& token) : database_(&database), token_(&token) {}
  Database* database_;
  BlockingToken* token_;
};

}  // namespace logarithm::aggregator
