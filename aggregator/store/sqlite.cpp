#include "aggregator/store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace logarithm::aggregator {
namespace {

ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL: return ErrorCode::no_space;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorCode::unavailable;
    case SQLITE_INTERRUPT: return ErrorCode::cancelled;
    case SQLITE_CONSTRAINT: return ErrorCode::conflict;
    case SQLITE_TOOBIG: return ErrorCode::too_large;
    case SQLITE_CANTOPEN: return ErrorCode::not_found;
    default: return ErrorCode::io;
  }
}

}  // namespace

struct Database::Impl {
  sqlite3* handle = nullptr;
  std::unordered_map<std::string_view, std::vector<sqlite3_stmt*>> idle;
};

// ---- Statement

Statement::Statement(Database& database, sqlite3_stmt* handle, std::string_view sql)
    : database_(&database), handle_(handle), sql_(sql) {}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      sql_(other.sql_),
      failed_(other.failed_) {}

Statement::~Statement() {
  if (handle_ == nullptr) return;
  reset();
  database_->give_back(sql_, handle_);
}

void Statement::note(int code) {
  if (code != SQLITE_OK && failed_ == 0) failed_ = code;
}

void Statement::bind(int index, std::int64_t value) {
  note(sqlite3_bind_int64(handle_, index, value));
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL where an empty text is meant.
  const char* data = text.data() == nullptr ? "" : text.data();
  note(sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int index, Blob blob) {
  const char* data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  note(sqlite3_bind_blob64(handle_, index, data, blob.bytes.size(), SQLITE_STATIC));
}

void Statement::bind(int index, double value) {
  note(sqlite3_bind_blob64(handle_, index, &value, sizeof value, SQLITE_TRANSIENT));
}

void Statement::bind(int index, std::nullopt_t) { note(sqlite3_bind_null(handle_, index)); }

Result<bool> Statement::step(BlockingToken&) {
  if (failed_ != 0) return database_->error(failed_, "bind");
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = database_->error(code, sql_.substr(0, 60));
  sqlite3_reset(handle_);
  return error;
}

Status Statement::run(BlockingToken& token) {
  for (;;) {
    LGR_TRY(bool row, step(token));
    if (!row) break;
  }
  reset();
  return {};
}

void Statement::reset() {
  // The result repeats the error of the last step, which was reported then.
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  failed_ = 0;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

double Statement::float64(int column) const {
  const std::string_view raw = bytes(column);
  double value = 0;
  if (raw.size() == sizeof value) std::memcpy(&value, raw.data(), sizeof value);
  return value;
}

std::optional<std::int64_t> Statement::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

// ---- Database

Database::Database(std::string path, std::unique_ptr<Impl> impl)
    : path_(std::move(path)), impl_(std::move(impl)) {}

Database::~Database() {
  for (auto& [sql, handles] : impl_->idle) {
    for (sqlite3_stmt* handle : handles) sqlite3_finalize(handle);
  }
  sqlite3_close_v2(impl_->handle);
}

Error Database::error(int code, std::string_view what) const {
  const int extended = sqlite3_extended_errcode(impl_->handle);
  ErrorCode kind = code_of(code);
  if (kind == ErrorCode::io && sqlite3_system_errno(impl_->handle) == ENOSPC) {
    kind = ErrorCode::no_space;
  }
  return Error(kind, path_ + ": " + std::string(what) + ": " + sqlite3_errmsg(impl_->handle) +
                         " (sqlite " + std::to_string(extended) + ")");
}

Result<std::unique_ptr<Database>> Database::open(BlockingToken& token, const std::string& path,
                                                 const Options& options) {
  auto impl = std::make_unique<Impl>();
  const int flags =
      (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &impl->handle, flags, nullptr);
  auto database = std::unique_ptr<Database>(new Database(path, std::move(impl)));
  if (code != SQLITE_OK) return database->error(code, "open");
  sqlite3_busy_timeout(database->impl_->handle, static_cast<int>(options.busy_timeout.count()));
  // Stored bytes come from outside: no schema of a damaged file may run functions of ours.
  sqlite3_db_config(database->impl_->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database->impl_->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  if (options.read_only) {
    LGR_CHECK(database->exec(token, "PRAGMA query_only=1"));
    return database;
  }
  std::string pragmas = "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; ";
  pragmas += options.durable ? "PRAGMA synchronous=FULL; " : "PRAGMA synchronous=OFF; ";
  pragmas += "PRAGMA journal_size_limit=67108864; PRAGMA temp_store=MEMORY; ";
  if (options.max_pages > 0) {
    pragmas += "PRAGMA max_page_count=" + std::to_string(options.max_pages) + ";";
  }
  LGR_CHECK(database->exec(token, pragmas));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) {
  auto& idle = impl_->idle[sql];
  if (!idle.empty()) {
    sqlite3_stmt* handle = idle.back();
    idle.pop_back();
    return Statement(*this, handle, sql);
  }
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(impl_->handle, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) return error(code, "prepare " + std::string(sql.substr(0, 60)));
  return Statement(*this, handle, sql);
}

void Database::give_back(std::string_view sql, sqlite3_stmt* handle) {
  impl_->idle[sql].push_back(handle);
}

Status Database::exec(BlockingToken&, const std::string& sql) {
  const int code = sqlite3_exec(impl_->handle, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql.substr(0, 60));
  return {};
}

void Database::interrupt() { sqlite3_interrupt(impl_->handle); }
std::int64_t Database::last_rowid() const { return sqlite3_last_insert_rowid(impl_->handle); }
std::int64_t Database::changes() const { return sqlite3_changes64(impl_->handle); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(impl_->handle) == 0; }

Status Database::end_read() {
  if (!in_transaction()) return {};
  const int code = sqlite3_exec(impl_->handle, "ROLLBACK", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, "end read");
  return {};
}

Status Database::checkpoint(BlockingToken&) {
  const int code = sqlite3_wal_checkpoint_v2(impl_->handle, nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, nullptr);
  if (code != SQLITE_OK && code_of(code) != ErrorCode::unavailable) {
    return error(code, "checkpoint");
  }
  return {};
}

// ---- Transaction

Result<Transaction> Transaction::begin(BlockingToken& token, Database& database) {
  LGR_CHECK(database.run(token, "BEGIN IMMEDIATE"));
  return Transaction(database, token);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)), token_(other.token_) {}

Transaction::~Transaction() {
  // After SQLITE_FULL or an I/O error SQLite may have rolled back by itself.
  if (database_ == nullptr || !database_->in_transaction()) return;
  static_cast<void>(database_->exec(*token_, "ROLLBACK").ok());
}

Status Transaction::commit() {
  LGR_CHECK(database_->run(*token_, "COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace logarithm::aggregator
