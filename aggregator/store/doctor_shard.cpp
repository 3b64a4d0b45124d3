#include "aggregator/store/doctor_shard.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_set>

#include "aggregator/store/catalogue.h"
#include "aggregator/store/schema.h"
#include "aggregator/store/sqlite.h"
#include "common/block/block_reader.h"
#include "common/line/template.h"
#include "common/model/ranges.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMostProblems = 20;  // named per shard; more are counted

// SQLite's own check; empty when all is well.
Result<std::vector<std::string>> quick_check(BlockingToken& token, Database& database) {
  std::vector<std::string> out;
  LGR_TRY(Statement rows, database.prepare("PRAGMA quick_check(20)"));
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return out;
    const std::string text(rows.bytes(0));
    if (text != "ok") out.push_back(text);
  }
}

}  // namespace

struct ShardDoctor::Open {
  std::unique_ptr<Database> database;
  std::map<std::int64_t, std::vector<Range>> ranges;  // by stream
  std::map<std::int64_t, StreamId> streams;
  std::unordered_set<TemplateId> templates;
};

void ShardDoctor::damaged(const Damaged& row, std::string_view bytes, std::string why) {
  if (damaged_.size() < kMostProblems) {
    problem("block " + std::to_string(row.id) + " of " + row.table + " [" +
            std::to_string(row.first) + ", " + std::to_string(row.end) + "): " + why);
  }
  Damaged kept = row;
  kept.bytes = std::string(bytes);
  kept.why = std::move(why);
  damaged_.push_back(std::move(kept));
}

Status ShardDoctor::examine(BlockingToken& token) {
  report_.path = path_;
  std::error_code ignored;
  for (const char* suffix : {"", "-wal"}) {
    const auto size = std::filesystem::file_size(path_ + suffix, ignored);
    if (!ignored) report_.bytes += size;
  }
  Open open;
  Database::Options options;
  options.read_only = read_only_;
  auto database = Database::open(token, path_, options);
  Status status;
  if (database.ok()) {
    open.database = std::move(*database);
    status = check_file(token, open);
  } else {
    status = database.error();
  }
  if (!status.ok() && status.error().code() == ErrorCode::corrupt) {
    problem(status.error().message());
    open.database.reset();
    return read_only_ ? Status() : move_aside(token);
  }
  LGR_CHECK(status);
  LGR_CHECK(check_blocks(token, open, "blocks"));
  LGR_CHECK(check_blocks(token, open, "inbox"));
  report_.damaged_blocks = damaged_.size();
  if (damaged_.size() > kMostProblems) {
    problem(std::to_string(damaged_.size() - kMostProblems) + " more damaged blocks");
  }
  for (const Damaged& block : damaged_) {
    if (!read_only_) LGR_CHECK(set_aside(token, open, block));
  }
  return check_index(token, open);
}

// Error{corrupt}: the file as a whole is no good.
Status ShardDoctor::check_file(BlockingToken& token, Open& open) {
  Database& database = *open.database;
  LGR_TRY(const auto found, quick_check(token, database));
  if (!found.empty()) return Error(ErrorCode::corrupt, "SQLite: " + found.front());
  LGR_TRY(const auto version, database.number(token, "PRAGMA user_version"));
  if (version.value_or(0) > kShardSchema) {
    return Error(ErrorCode::unavailable, path_ + ": schema version " +
                                             std::to_string(version.value_or(0)) +
                                             " is newer than this program");
  }
  LGR_TRY(Statement meta, database.prepare("SELECT key, value FROM meta"));
  for (;;) {
    LGR_TRY(bool more, meta.step(token));
    if (!more) break;
    if (meta.bytes(0) == "tenant") report_.tenant = meta.bytes(1);
    if (meta.bytes(0) == "job") report_.job = meta.bytes(1);
    if (meta.bytes(0) == "part") part_ = meta.u32(1);
  }
  LGR_TRY(Statement streams,
          database.prepare("SELECT id, base_hi, base_lo, generation FROM streams"));
  for (;;) {
    LGR_TRY(bool more, streams.step(token));
    if (!more) break;
    const StreamId id{StreamBase{streams.u64(1), streams.u64(2)}, streams.u32(3)};
    open.streams[streams.integer(0)] = id;
    streams_.push_back(to_text(id));
  }
  LGR_TRY(Statement ranges, database.prepare("SELECT stream, first, end FROM ranges"));
  for (;;) {
    LGR_TRY(bool more, ranges.step(token));
    if (!more) break;
    open.ranges[ranges.integer(0)].push_back(Range{ranges.u64(1), ranges.u64(2)});
  }
  LGR_TRY(Statement templates, database.prepare("SELECT id FROM templates"));
  for (;;) {
    LGR_TRY(bool more, templates.step(token));
    if (!more) return {};
    open.templates.insert(templates.u64(0));
  }
}

Status ShardDoctor::check_blocks(BlockingToken& token, Open& open, const std::string& table) {
  static constexpr std::string_view kBlocks =
      "SELECT id, stream, first, end, lines, raw_bytes, header, body FROM blocks";
  static constexpr std::string_view kInbox =
      "SELECT id, stream, first, end, lines, raw_bytes, header, body FROM inbox";
  LGR_TRY(Statement rows, open.database->prepare(table == "blocks" ? kBlocks : kInbox));
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return {};
    ++report_.blocks;
    Damaged row;
    row.table = table;
    row.id = rows.integer(0);
    row.stream = rows.integer(1);
    row.first = rows.u64(2);
    row.end = rows.u64(3);
    row.lines = rows.u64(4);
    row.raw_bytes = rows.u64(5);
    report_.lines += row.lines;
    const std::string bytes = std::string(rows.bytes(6)) + std::string(rows.bytes(7));
    LGR_CHECK(check_block(token, open, row, bytes, row.lines));
  }
}

Status ShardDoctor::check_block(BlockingToken&, Open& open, const Damaged& row,
                                std::string_view bytes, std::uint64_t lines) {
  const auto reader = BlockReader::open(bytes);
  if (!reader.ok()) {
    damaged(row, bytes, reader.error().message());
    return {};
  }
  const BlockHeader& header = reader->header();
  const auto stream = open.streams.find(row.stream);
  if (stream == open.streams.end() || stream->second != header.stream) {
    damaged(row, bytes, "of another stream than its row says");
  } else if (header.first != row.first || header.end != row.end || header.lines != lines) {
    damaged(row, bytes, "of another range than its row says");
  } else if (!without({Range{row.first, row.end}}, open.ranges[row.stream]).empty()) {
    problem("block " + std::to_string(row.id) + " of " + row.table +
            " lies in no range that is stored");
  } else if (std::any_of(header.stored_templates.begin(), header.stored_templates.end(),
                         [&](TemplateId id) { return !open.templates.contains(id); })) {
    damaged(row, bytes, "needs templates that are missing");
  }
  return {};
}

// The row goes into a file of its own, and its range is not stored any more.
Status ShardDoctor::set_aside(BlockingToken& token, Open& open, const Damaged& block) {
  const std::string target =
      path_ + ".block-" + block.table + "-" + std::to_string(block.id) + ".bad";
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file.write(block.bytes.data(), static_cast<std::streamsize>(block.bytes.size()));
  file.close();
  if (!file) return Error(ErrorCode::io, "cannot write " + target);

  Database& database = *open.database;
  std::vector<Range>& ranges = open.ranges[block.stream];
  ranges = without(std::move(ranges), {Range{block.first, block.end}});
  LGR_TRY(Transaction transaction, Transaction::begin(token, database));
  if (block.table == "blocks") {
    LGR_CHECK(database.run(token, "DELETE FROM blocks WHERE id=?", block.id));
  } else {
    LGR_CHECK(database.run(token, "DELETE FROM inbox WHERE id=?", block.id));
  }
  LGR_CHECK(database.run(token, "DELETE FROM ranges WHERE stream=?", block.stream));
  for (const Range& range : ranges) {
    LGR_CHECK(database.run(token, "INSERT INTO ranges(stream, first, end) VALUES(?, ?, ?)",
                           block.stream, range.first, range.end));
  }
  LGR_CHECK(database.run(token,
                         "UPDATE streams SET lines=max(lines-?, 0), raw_bytes=max(raw_bytes-?, 0) "
                         "WHERE id=?",
                         block.lines, block.raw_bytes, block.stream));
  LGR_CHECK(database.run(token, "UPDATE meta SET value=value+1 WHERE key='commit'"));
  LGR_CHECK(transaction.commit());
  report_.done.push_back("moved to " + target);
  return {};
}

Status ShardDoctor::check_index(BlockingToken& token, Open& open) {
  Database& database = *open.database;
  LGR_TRY(const auto texts, database.number(token, "SELECT count(*) FROM templates WHERE kind=0"));
  LGR_TRY(const auto indexed,
          database.number(token, "SELECT count(*) FROM template_index_docsize"));
  if (texts != indexed) {
    problem("template index: " + std::to_string(indexed.value_or(0)) + " of " +
            std::to_string(texts.value_or(0)) + " templates");
    return read_only_ ? Status() : rebuild_index(token, open);
  }
  if (read_only_) return {};  // SQLite's own check is a write
  Status checked;
  {
    LGR_TRY(Transaction undone, Transaction::begin(token, database));
    checked =
        database.run(token, "INSERT INTO template_index(template_index) VALUES('integrity-check')");
  }
  if (checked.ok()) return {};
  if (checked.error().code() != ErrorCode::corrupt) return checked;
  problem("template index: " + checked.error().message());
  return rebuild_index(token, open);
}

Status ShardDoctor::rebuild_index(BlockingToken& token, Open& open) {
  Database& database = *open.database;
  LGR_TRY(Transaction transaction, Transaction::begin(token, database));
  LGR_CHECK(database.run(token, "INSERT INTO template_index(template_index) VALUES('delete-all')"));
  LGR_TRY(Statement rows,
          database.prepare("SELECT seq, text FROM templates WHERE kind=0 ORDER BY seq"));
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) break;
    const std::string text = searchable_template(rows.bytes(1));
    LGR_CHECK(database.run(token, "INSERT INTO template_index(rowid, text) VALUES(?, ?)",
                           rows.integer(0), text));
  }
  LGR_CHECK(transaction.commit());
  report_.done.emplace_back("the template index was built anew");
  return {};
}

Status ShardDoctor::move_aside(BlockingToken& token) {
  LGR_CHECK(quarantine(token, path_));
  report_.done.push_back("moved aside as " + path_ + ".bad");
  return {};
}

}  // namespace logarithm::aggregator
