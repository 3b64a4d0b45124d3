#include "aggregator/store/shard.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "aggregator/store/model_text.h"
#include "aggregator/store/process_merge.h"
#include "aggregator/store/range_set.h"
#include "aggregator/store/schema.h"
#include "common/line/template.h"

namespace logarithm::aggregator {

Result<std::unique_ptr<Shard>> Shard::open(BlockingToken& token, const std::string& path,
                                           const JobKey& job, std::uint32_t part,
                                           const Database::Options& options) {
  LGR_TRY(auto database, Database::open(token, path, options));
  LGR_CHECK(migrate_shard(token, *database));
  auto shard = std::unique_ptr<Shard>(new Shard(std::move(database), part));
  LGR_CHECK(shard->check_identity(token, job));
  LGR_TRY(shard->file_, identity_of(token, path));
  LGR_TRY(shard->wal_, identity_of(token, path + "-wal"));
  return shard;
}

Result<Shard::Place> Shard::place(BlockingToken& token) {
  LGR_TRY(const auto file, identity_of(token, database_->path()));
  if (file_ && file != file_) return Place::gone;
  if (!wal_) return Place::here;
  LGR_TRY(const auto wal, identity_of(token, database_->path() + "-wal"));
  return wal == wal_ ? Place::here : Place::no_wal;
}

void Shard::remove_left_wal(BlockingToken& token) {
  const auto left = identity_of(token, database_->path() + "-wal");
  if (!left.ok() || !wal_ || *left != wal_) return;
  std::error_code ignored;  // what cannot be removed is found damaged when it is opened
  std::filesystem::remove(database_->path() + "-wal", ignored);
  std::filesystem::remove(database_->path() + "-shm", ignored);
}

Status Shard::check_identity(BlockingToken& token, const JobKey& job) {
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  static constexpr std::string_view kPut = "INSERT OR IGNORE INTO meta(key, value) VALUES(?, ?)";
  LGR_CHECK(database_->run(token, kPut, "tenant", job.tenant));
  LGR_CHECK(database_->run(token, kPut, "job", job.job));
  LGR_CHECK(database_->run(token, kPut, "part", part_));
  LGR_CHECK(database_->run(token, kPut, "commit", 0));
  {
    LGR_TRY(Statement same, database_->prepare("SELECT count(*) FROM meta WHERE (key='tenant' AND "
                                               "value=?) OR (key='job' AND value=?) OR "
                                               "(key='part' AND value=?)"));
    same.bind_all(job.tenant, job.job, part_);
    LGR_TRY(bool row, same.step(token));
    if (!row || same.integer(0) != 3) {
      return Error(ErrorCode::corrupt, database_->path() + ": belongs to another job or part");
    }
  }
  return transaction.commit();
}

Result<bool> Shard::is_whole(BlockingToken& token) {
  LGR_TRY(Statement check, database_->prepare("PRAGMA quick_check(1)"));
  LGR_TRY(bool row, check.step(token));
  return row && check.bytes(0) == "ok";
}

// ---- streams

Result<Shard::Stream*> Shard::find_stream(BlockingToken& token, const StreamId& id) {
  if (auto known = streams_.find(id); known != streams_.end()) return known->second.get();
  auto stream = std::make_unique<Stream>();
  {
    LGR_TRY(Statement row,
            database_->prepare("SELECT id, tail_end, tail_crc, head, "
                               "EXISTS(SELECT 1 FROM closed WHERE stream=streams.id), "
                               "run_iteration, run_hash, run_lines "
                               "FROM streams WHERE base_hi=? AND base_lo=? AND "
                               "generation=?"));
    row.bind_all(id.base.hi, id.base.lo, id.generation);
    LGR_TRY(bool found, row.step(token));
    if (!found) return static_cast<Stream*>(nullptr);
    stream->row = row.integer(0);
    stream->tail_end = row.u64(1);
    stream->tail_crc = row.u32(2);
    stream->head = row.bytes(3);
    stream->closed = row.integer(4) != 0;
    if (!row.is_null(5)) stream->run = IterationRun{row.integer(5), row.u64(6), row.u64(7)};
  }
  LGR_TRY(Statement ranges, database_->prepare("SELECT first, end FROM ranges WHERE stream=?"));
  ranges.bind_all(stream->row);
  for (;;) {
    LGR_TRY(bool more, ranges.step(token));
    if (!more) break;
    // Offsets are unsigned but SQLite sorts them signed: add_range() puts them in order.
    add_range(stream->ranges, Range{ranges.u64(0), ranges.u64(1)});
  }
  LGR_TRY(Statement versions,
          database_->prepare("SELECT version, first, process, facts FROM stream_versions WHERE "
                             "stream=?"));
  versions.bind_all(stream->row);
  for (;;) {
    LGR_TRY(bool more, versions.step(token));
    if (!more) break;
    LGR_TRY(auto attributes, parse_attributes(versions.bytes(3)));
    Version version;
    version.from = versions.u64(1);
    version.process = versions.maybe_integer(2);
    version.host = attributes.host;
    version.axis = iteration_axis(attributes);
    stream->versions[versions.u32(0)] = std::move(version);
  }
  return streams_.emplace(id, std::move(stream)).first->second.get();
}

Result<std::vector<StreamId>> Shard::generations(BlockingToken& token, const StreamBase& base) {
  LGR_TRY(Statement rows, database_->prepare("SELECT generation FROM streams WHERE base_hi=? AND "
                                             "base_lo=? ORDER BY generation"));
  rows.bind_all(base.hi, base.lo);
  std::vector<StreamId> result;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return result;
    result.push_back(StreamId{base, rows.u32(0)});
  }
}

Result<std::vector<StreamId>> Shard::streams(BlockingToken& token) {
  LGR_TRY(Statement rows, database_->prepare("SELECT base_hi, base_lo, generation FROM streams"));
  std::vector<StreamId> result;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return result;
    result.push_back(StreamId{StreamBase{rows.u64(0), rows.u64(1)}, rows.u32(2)});
  }
}

Result<std::vector<wire::StreamInfo>> Shard::stream_infos(BlockingToken& token,
                                                          const StreamId& id) {
  LGR_TRY(Statement rows, database_->prepare("SELECT s.head, s.predecessor, v.facts FROM streams s "
                                             "JOIN stream_versions v ON v.stream=s.id WHERE "
                                             "s.base_hi=? AND s.base_lo=? AND s.generation=? ORDER "
                                             "BY v.version"));
  rows.bind_all(id.base.hi, id.base.lo, id.generation);
  std::vector<wire::StreamInfo> infos;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return infos;
    wire::StreamInfo info;
    info.stream = id;
    info.head = rows.bytes(0);
    if (!rows.is_null(1)) info.predecessor = rows.u32(1);
    LGR_TRY(info.attributes, parse_attributes(rows.bytes(2)));
    infos.push_back(std::move(info));
  }
}

Status Shard::put_stream(BlockingToken& token, const wire::StreamInfo& info) {
  LGR_TRY(Stream * stream, find_stream(token, info.stream));
  if (stream == nullptr) {
    LGR_CHECK(database_->run(token,
                             "INSERT INTO streams(base_hi, base_lo, generation, head, predecessor) "
                             "VALUES(?, ?, ?, ?, ?)",
                             info.stream.base.hi, info.stream.base.lo, info.stream.generation,
                             Blob{info.head}, info.predecessor));
    auto fresh = std::make_unique<Stream>();
    fresh->row = database_->last_rowid();
    fresh->head = info.head;
    stream = streams_.emplace(info.stream, std::move(fresh)).first->second.get();
  } else if (info.head.size() > stream->head.size()) {
    // A head is known "as far as it is known": it only grows.
    LGR_CHECK(database_->run(token,
                             "UPDATE streams SET head=?, predecessor=coalesce(?, "
                             "predecessor) WHERE id=?",
                             Blob{info.head}, info.predecessor, stream->row));
    stream->head = info.head;
  }
  LGR_TRY(const bool knows_more, knows_writer(token, *stream, info.attributes));
  if (knows_more) return {};
  Version version;
  version.from = info.attributes.from;
  version.host = info.attributes.host;
  version.axis = iteration_axis(info.attributes);
  if (!info.attributes.process.empty()) {
    LGR_TRY(version.process, process_row(token, info.attributes.process, info.attributes.host));
  }
  const std::string facts = to_text(info.attributes);
  LGR_CHECK(database_->run(token,
                           "INSERT OR REPLACE INTO stream_versions(stream, version, first, "
                           "process, facts) VALUES(?, ?, ?, ?, ?)",
                           stream->row, info.attributes.version, version.from, version.process,
                           facts));
  stream->versions[info.attributes.version] = std::move(version);
  return {};
}

// The agents of several hosts tell of one file of a network file system, and only the writer's
// knows its process: the others' versions of the same number do not take that away.
Result<bool> Shard::knows_writer(BlockingToken& token, const Stream& stream,
                                 const StreamAttributes& told) {
  const bool there = stream.versions.contains(told.version);
  if (!there || !told.process.empty() || !told.run_of.empty()) return false;
  LGR_TRY(Statement rows,
          database_->prepare("SELECT facts FROM stream_versions WHERE stream=? AND version=?"));
  rows.bind_all(stream.row, told.version);
  LGR_TRY(const bool found, rows.step(token));
  if (!found) return false;
  LGR_TRY(const StreamAttributes known, parse_attributes(rows.bytes(0)));
  const bool has_writer = !known.process.empty() || !known.run_of.empty();
  return has_writer && known.host != told.host && known.job == told.job;
}

Status Shard::put_closed(BlockingToken& token, Stream& stream, std::uint64_t size,
                         std::string_view reason) {
  LGR_CHECK(database_->run(token,
                           "INSERT OR REPLACE INTO closed(stream, size, reason) VALUES(?, ?, ?)",
                           stream.row, size, reason));
  stream.closed = true;
  return {};
}

Status Shard::put_gap(BlockingToken& token, const Stream& stream, const Gap& gap) {
  return database_->run(token,
                        "INSERT OR REPLACE INTO gaps(stream, first, end, reason, at) VALUES(?, ?, "
                        "?, ?, ?)",
                        stream.row, gap.from, gap.to, gap.reason, gap.at);
}

Result<std::vector<Range>> Shard::gaps(BlockingToken& token, const Stream& stream) {
  LGR_TRY(Statement rows, database_->prepare("SELECT first, end FROM gaps WHERE stream=? AND end "
                                             "IS NOT NULL"));
  rows.bind_all(stream.row);
  std::vector<Range> result;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return result;
    result.push_back(Range{rows.u64(0), rows.u64(1)});
  }
}

// ---- processes

Result<std::int64_t> Shard::process_row(BlockingToken& token, const std::string& key,
                                        std::string_view host) {
  LGR_CHECK(
      database_->run(token, "INSERT OR IGNORE INTO processes(key, host) VALUES(?, ?)", key, host));
  LGR_TRY(auto row, database_->number(token, "SELECT id FROM processes WHERE key=?", key));
  return row.value_or(0);
}

Status Shard::put_process(BlockingToken& token, const ProcessInfo& process) {
  const std::string key = process.key();
  ProcessInfo merged = process;
  {
    LGR_TRY(Statement known, database_->prepare("SELECT facts FROM processes WHERE key=?"));
    known.bind_all(key);
    LGR_TRY(bool found, known.step(token));
    if (found && !known.is_null(0)) {
      LGR_TRY(auto before, parse_process(known.bytes(0)));
      merged = merge_process(before, process);
    }
  }
  const std::string facts = to_text(merged);
  return database_->run(token,
                        "INSERT INTO processes(key, host, start, facts) VALUES(?, ?, ?, ?) ON "
                        "CONFLICT(key) DO UPDATE SET host=excluded.host, start=excluded.start, "
                        "facts=excluded.facts",
                        key, merged.host, merged.start, facts);
}

// ---- templates

Result<bool> Shard::knows_template(BlockingToken& token, TemplateId id) {
  if (templates_.contains(id)) return true;
  LGR_TRY(auto seq, database_->number(token, "SELECT seq FROM templates WHERE id=?", id));
  if (seq) templates_.insert(id);
  return seq.has_value();
}

Result<std::optional<TemplateDef>> Shard::find_template(BlockingToken& token, TemplateId id) {
  LGR_TRY(Statement row,
          database_->prepare("SELECT kind, mask_version, text FROM templates WHERE id=?"));
  row.bind_all(id);
  LGR_TRY(bool found, row.step(token));
  if (!found) return std::optional<TemplateDef>();
  TemplateDef definition;
  definition.id = id;
  definition.kind = static_cast<TemplateKind>(row.integer(0));
  definition.mask_version = static_cast<std::uint8_t>(row.integer(1));
  definition.text = row.bytes(2);
  return std::optional<TemplateDef>(std::move(definition));
}

Result<Shard::PutTemplate> Shard::put_template(BlockingToken& token,
                                               const TemplateDef& definition) {
  LGR_TRY(auto known, find_template(token, definition.id));
  if (known) {
    return known->text == definition.text ? PutTemplate::stored : PutTemplate::conflict;
  }
  LGR_CHECK(database_->run(token,
                           "INSERT INTO templates(id, kind, mask_version, text) VALUES(?, ?, ?, ?)",
                           definition.id, static_cast<int>(definition.kind),
                           static_cast<int>(definition.mask_version), Blob{definition.text}));
  if (definition.kind == TemplateKind::body) {
    const std::int64_t seq = database_->last_rowid();
    const std::string text = searchable_template(definition.text);
    LGR_CHECK(
        database_->run(token, "INSERT INTO template_index(rowid, text) VALUES(?, ?)", seq, text));
    ++templates_since_optimize_;
  }
  templates_.insert(definition.id);
  return PutTemplate::stored;
}

Status Shard::optimize_index(BlockingToken& token) {
  templates_since_optimize_ = 0;
  return database_->run(token, "INSERT INTO template_index(template_index) VALUES('optimize')");
}

// ---- the whole

Status Shard::count_commit(BlockingToken& token) {
  return database_->run(token, "UPDATE meta SET value=value+1 WHERE key='commit'");
}

void Shard::forget() {
  streams_.clear();
  templates_.clear();
  call_sites_.clear();
  wrapper_ranks_.clear();
}

Result<std::optional<UnixNanos>> Shard::first_ingested(BlockingToken& token) {
  if (first_ingested_) return first_ingested_;
  LGR_TRY(first_ingested_,
          database_->number(token,
                            "SELECT min(at) FROM (SELECT * FROM (SELECT ingested AS at FROM "
                            "blocks ORDER BY id LIMIT 1) UNION ALL SELECT * FROM (SELECT "
                            "ingested FROM inbox ORDER BY id LIMIT 1))"));
  return first_ingested_;
}

Result<std::uint64_t> Shard::size(BlockingToken& token) {
  LGR_TRY(auto pages, database_->number(token, "PRAGMA page_count"));
  LGR_TRY(auto page, database_->number(token, "PRAGMA page_size"));
  return static_cast<std::uint64_t>(pages.value_or(0) * page.value_or(0));
}

}  // namespace logarithm::aggregator
