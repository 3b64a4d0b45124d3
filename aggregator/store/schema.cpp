#include "aggregator/store/schema.h"

#include <string>
#include <vector>

#include "common/base/assert.h"

namespace logarithm::aggregator {
namespace {

// One migration a string, oldest first; a shipped one never changes.
const std::vector<std::string>& shard_migrations() {
  static const std::vector<std::string> kMigrations = {R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE processes(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, host TEXT NOT NULL, start INTEGER,
  facts TEXT);

CREATE TABLE streams(
  id INTEGER PRIMARY KEY, base_hi INTEGER NOT NULL, base_lo INTEGER NOT NULL,
  generation INTEGER NOT NULL, head BLOB NOT NULL, predecessor INTEGER,
  tail_end INTEGER NOT NULL DEFAULT 0, tail_crc INTEGER NOT NULL DEFAULT 0,
  lines INTEGER NOT NULL DEFAULT 0, raw_bytes INTEGER NOT NULL DEFAULT 0,
  errors INTEGER NOT NULL DEFAULT 0, first_time INTEGER, last_time INTEGER,
  last_iteration INTEGER,
  UNIQUE(base_hi, base_lo, generation));

CREATE TABLE stream_versions(
  stream INTEGER NOT NULL, version INTEGER NOT NULL, first INTEGER NOT NULL,
  process INTEGER, facts TEXT NOT NULL,
  PRIMARY KEY(stream, version)) WITHOUT ROWID;

CREATE TABLE blocks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, version INTEGER NOT NULL,
  first INTEGER NOT NULL, end INTEGER NOT NULL, lines INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL, time_min INTEGER NOT NULL, time_max INTEGER NOT NULL,
  observed_min INTEGER NOT NULL, observed_max INTEGER NOT NULL,
  iteration_min INTEGER, iteration_max INTEGER, rank_min INTEGER, rank_max INTEGER,
  severities INTEGER NOT NULL, flags INTEGER NOT NULL, ingested INTEGER NOT NULL,
  tombstones BLOB, header BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX blocks_scan ON blocks(
  stream, first, end, version, lines, time_min, time_max, severities);

CREATE TABLE inbox(
  id INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, version INTEGER NOT NULL,
  first INTEGER NOT NULL, end INTEGER NOT NULL, lines INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL, time_min INTEGER NOT NULL, time_max INTEGER NOT NULL,
  observed_min INTEGER NOT NULL, observed_max INTEGER NOT NULL,
  iteration_min INTEGER, iteration_max INTEGER, rank_min INTEGER, rank_max INTEGER,
  severities INTEGER NOT NULL, flags INTEGER NOT NULL, ingested INTEGER NOT NULL,
  tombstones BLOB, header BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX inbox_scan ON inbox(
  stream, first, end, version, lines, time_min, time_max, severities, raw_bytes, ingested,
  tombstones);

CREATE TABLE templates(
  seq INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, kind INTEGER NOT NULL,
  mask_version INTEGER NOT NULL, text BLOB NOT NULL);
CREATE VIRTUAL TABLE template_index USING fts5(
  text, content='', tokenize='trigram', detail=full);
INSERT INTO template_index(template_index, rank) VALUES('automerge', 0);

CREATE TABLE ranges(
  stream INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL,
  PRIMARY KEY(stream, first)) WITHOUT ROWID;
CREATE TABLE gaps(
  stream INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER, reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY(stream, first, reason)) WITHOUT ROWID;
CREATE TABLE closed(stream INTEGER PRIMARY KEY, size INTEGER NOT NULL, reason TEXT NOT NULL);

CREATE TABLE iterations(
  process INTEGER NOT NULL, iteration INTEGER NOT NULL, first_time INTEGER NOT NULL,
  PRIMARY KEY(process, iteration)) WITHOUT ROWID;

CREATE TABLE call_sites(id INTEGER PRIMARY KEY, site TEXT NOT NULL UNIQUE);
CREATE TABLE call_site_counts(
  call_site INTEGER NOT NULL, stream INTEGER NOT NULL, version INTEGER NOT NULL,
  lines INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY(call_site, stream, version)) WITHOUT ROWID;

CREATE TABLE groups(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE template_groups(
  template INTEGER NOT NULL, version INTEGER NOT NULL, group_id INTEGER NOT NULL,
  PRIMARY KEY(template, version)) WITHOUT ROWID;

CREATE TABLE events(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, offset INTEGER NOT NULL,
  version INTEGER NOT NULL, process INTEGER, host TEXT NOT NULL, iteration INTEGER,
  time INTEGER NOT NULL, rule TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
  UNIQUE(stream, offset, rule, kind));
CREATE INDEX events_by_kind ON events(kind, time);

CREATE TABLE points(
  stream INTEGER NOT NULL, sequence INTEGER NOT NULL, metric TEXT NOT NULL, labels TEXT NOT NULL,
  process INTEGER, iteration INTEGER, time INTEGER NOT NULL, shape TEXT, value BLOB NOT NULL,
  PRIMARY KEY(stream, sequence, metric)) WITHOUT ROWID;
)sql",
                                                       R"sql(
ALTER TABLE iterations ADD COLUMN hash INTEGER NOT NULL DEFAULT 0;
CREATE TABLE iteration_nodes(
  process INTEGER NOT NULL, level INTEGER NOT NULL, node INTEGER NOT NULL, hash INTEGER NOT NULL,
  PRIMARY KEY(process, level, node)) WITHOUT ROWID;
ALTER TABLE streams ADD COLUMN run_iteration INTEGER;
ALTER TABLE streams ADD COLUMN run_hash INTEGER;
ALTER TABLE streams ADD COLUMN run_lines INTEGER;
INSERT INTO meta(key, value) SELECT 'hashes', 1 WHERE NOT EXISTS(SELECT 1 FROM ranges);
)sql",
                                                       R"sql(
CREATE INDEX blocks_ranked ON blocks(stream, rank_min) WHERE rank_min IS NOT NULL;
CREATE INDEX inbox_ranked ON inbox(stream, rank_min) WHERE rank_min IS NOT NULL;
CREATE TABLE wrapper_ranks(rank INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO wrapper_ranks
  SELECT rank_min FROM blocks WHERE rank_min IS NOT NULL
  UNION SELECT rank_max FROM blocks WHERE rank_max IS NOT NULL
  UNION SELECT rank_min FROM inbox WHERE rank_min IS NOT NULL
  UNION SELECT rank_max FROM inbox WHERE rank_max IS NOT NULL;
)sql"};
  return kMigrations;
}

const std::vector<std::string>& catalogue_migrations() {
  static const std::vector<std::string> kMigrations = {R"sql(
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
)sql",
                                                       R"sql(
DROP TABLE ranges;
CREATE TABLE retained_streams(
  job INTEGER NOT NULL, base_hi INTEGER NOT NULL, base_lo INTEGER NOT NULL,
  generation INTEGER NOT NULL, head BLOB NOT NULL, predecessor INTEGER,
  tail_end INTEGER NOT NULL, tail_crc INTEGER NOT NULL, closed_size INTEGER, closed_reason TEXT,
  versions TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(job, base_hi, base_lo, generation)) WITHOUT ROWID;
CREATE TABLE retained_ranges(
  job INTEGER NOT NULL, base_hi INTEGER NOT NULL, base_lo INTEGER NOT NULL,
  generation INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL,
  PRIMARY KEY(job, base_hi, base_lo, generation, first)) WITHOUT ROWID;
CREATE TABLE retained_processes(
  job INTEGER NOT NULL, key TEXT NOT NULL, facts TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(job, key)) WITHOUT ROWID;
ALTER TABLE jobs ADD COLUMN next_part INTEGER NOT NULL DEFAULT 0;
CREATE TABLE clock_history(
  tenant TEXT NOT NULL, host TEXT NOT NULL, at INTEGER NOT NULL, offset INTEGER NOT NULL,
  error INTEGER NOT NULL,
  PRIMARY KEY(tenant, host, at)) WITHOUT ROWID;
)sql"};
  return kMigrations;
}

}  // namespace

Status migrate(BlockingToken& token, Database& database,
               const std::vector<std::string>& migrations) {
  LGR_TRY(auto version, database.number(token, "PRAGMA user_version"));
  const std::int64_t have = version.value_or(0);
  const auto known = static_cast<std::int64_t>(migrations.size());
  if (have == known) return {};
  if (have < 0 || have > known) {
    return Error(ErrorCode::unavailable, database.path() + ": schema version " +
                                             std::to_string(have) + " is newer than this program");
  }
  LGR_TRY(Transaction transaction, Transaction::begin(token, database));
  for (std::int64_t next = have; next < known; ++next) {
    LGR_CHECK(database.exec(token, migrations[static_cast<std::size_t>(next)]));
  }
  LGR_CHECK(database.exec(token, "PRAGMA user_version=" + std::to_string(known)));
  return transaction.commit();
}

Status migrate_shard(BlockingToken& token, Database& database) {
  LGR_ASSERT(shard_migrations().size() == kShardSchema);
  return migrate(token, database, shard_migrations()).with_context("migrate");
}

Status migrate_catalogue(BlockingToken& token, Database& database) {
  LGR_ASSERT(catalogue_migrations().size() == kCatalogueSchema);
  return migrate(token, database, catalogue_migrations()).with_context("migrate");
}

}  // namespace logarithm::aggregator
