// The rows that a block brings with it.
#include <algorithm>

#include "aggregator/store/range_set.h"
#include "aggregator/store/shard.h"

namespace logarithm::aggregator {
namespace {

#define LGR_BLOCK_COLUMNS                                                               \
  "(stream, version, first, end, lines, raw_bytes, time_min, time_max, observed_min, "  \
  "observed_max, iteration_min, iteration_max, rank_min, rank_max, severities, flags, " \
  "ingested, header, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
constexpr std::string_view kPutSealed = "INSERT INTO blocks" LGR_BLOCK_COLUMNS;
constexpr std::string_view kPutFresh = "INSERT INTO inbox" LGR_BLOCK_COLUMNS;
#undef LGR_BLOCK_COLUMNS

template <typename T>
std::optional<std::int64_t> least(const std::optional<MinMax<T>>& range) {
  return range ? std::optional<std::int64_t>(range->min) : std::nullopt;
}
template <typename T>
std::optional<std::int64_t> most(const std::optional<MinMax<T>>& range) {
  return range ? std::optional<std::int64_t>(range->max) : std::nullopt;
}

}  // namespace

Status Shard::put_block_row(BlockingToken& token, std::string_view table, std::int64_t stream,
                            const BlockHeader& header, std::string_view bytes, UnixNanos ingested) {
  LGR_TRY(std::size_t head_size, header_bytes(bytes));
  return database_->run(
      token, table == "blocks" ? kPutSealed : kPutFresh, stream, header.attributes_version,
      header.first, header.end, header.lines, header.raw_bytes, header.time.min, header.time.max,
      header.observed.min, header.observed.max, least(header.iteration), most(header.iteration),
      least(header.wrapper_rank), most(header.wrapper_rank), static_cast<int>(header.severities),
      header.flags_any, ingested, Blob{bytes.substr(0, head_size)}, Blob{bytes.substr(head_size)});
}

Status Shard::put_block(BlockingToken& token, Stream& stream, const BlockHeader& header,
                        std::string_view bytes, const BlockFacts& facts, UnixNanos ingested) {
  const bool big = header.raw_bytes >= kSealedAtOnce;
  LGR_CHECK(put_block_row(token, big ? "blocks" : "inbox", stream.row, header, bytes, ingested));
  LGR_CHECK(extend_ranges(token, stream, Range{header.first, header.end}));

  std::optional<std::int64_t> first_time, last_time;
  if (header.lines > 0) {
    first_time = header.time.min;
    last_time = header.time.max;
  }
  LGR_CHECK(database_->run(
      token,
      "UPDATE streams SET lines=lines+?, raw_bytes=raw_bytes+?, errors=errors+?, "
      "first_time=min(coalesce(first_time, ?4), coalesce(?4, first_time)), "
      "last_time=max(coalesce(last_time, ?5), coalesce(?5, last_time)), "
      "last_iteration=max(coalesce(last_iteration, ?6), coalesce(?6, last_iteration)) WHERE id=?7",
      header.lines, header.raw_bytes, facts.errors, first_time, last_time, most(header.iteration),
      stream.row));
  Follows follows = Follows::fills;
  if (header.end > stream.tail_end) {
    follows = header.first == stream.tail_end ? Follows::directly : Follows::after_hole;
    LGR_CHECK(database_->run(token, "UPDATE streams SET tail_end=?, tail_crc=? WHERE id=?",
                             header.end, header.tail_crc, stream.row));
    stream.tail_end = header.end;
    stream.tail_crc = header.tail_crc;
  }
  for (const Gap& gap : header.gaps) LGR_CHECK(put_gap(token, stream, gap));
  LGR_CHECK(put_facts(token, stream, header, facts, follows));
  if (follows == Follows::fills || facts.runs.empty()) return {};
  const IterationRun& run = *stream.run;
  return database_->run(token,
                        "UPDATE streams SET run_iteration=?, run_hash=?, run_lines=? WHERE id=?",
                        run.iteration, run.hash, run.lines, stream.row);
}

// A run that goes on across blocks counts as one: what its beginning added is taken back. So the
// hashes do not depend on where agents cut their blocks, except beside a hole that is filled later.
std::map<std::int64_t, std::uint64_t> Shard::iteration_amounts(Stream& stream,
                                                               const BlockFacts& facts,
                                                               Follows follows) {
  std::map<std::int64_t, std::uint64_t> amounts;
  for (std::size_t i = 0; i < facts.runs.size(); ++i) {
    IterationRun run = facts.runs[i];
    if (i == 0 && follows == Follows::directly && stream.run &&
        stream.run->iteration == run.iteration) {
      amounts[run.iteration] -= stream.run->amount();
      IterationRun whole = *stream.run;
      whole.append(run);
      run = whole;
    }
    amounts[run.iteration] += run.amount();
    if (i + 1 == facts.runs.size() && follows != Follows::fills) stream.run = run;
  }
  return amounts;
}

Status Shard::put_iterations(BlockingToken& token, Stream& stream, const BlockFacts& facts,
                             std::int64_t axis, Follows follows) {
  const auto amounts = iteration_amounts(stream, facts, follows);
  std::map<std::pair<unsigned, std::int64_t>, std::uint64_t> nodes;
  for (const auto& [iteration, time] : facts.iterations) {
    const auto found = amounts.find(iteration);
    const std::uint64_t amount = found == amounts.end() ? 0 : found->second & kHashMask;
    LGR_CHECK(database_->run(
        token,
        "INSERT INTO iterations(process, iteration, first_time, hash) VALUES(?, ?, ?, ?) ON "
        "CONFLICT(process, iteration) DO UPDATE SET first_time=min(first_time, "
        "excluded.first_time), hash=(hash+excluded.hash)&?5",
        axis, iteration, time, amount, kHashMask));
    for (unsigned level = 1; level < kHashLevels; ++level) {
      nodes[{level, hash_node(iteration, level)}] += amount;
    }
  }
  for (const auto& [node, sum] : nodes) {
    LGR_CHECK(database_->run(token,
                             "INSERT INTO iteration_nodes(process, level, node, hash) VALUES(?, "
                             "?, ?, ?) ON CONFLICT(process, level, node) DO UPDATE SET "
                             "hash=(hash+excluded.hash)&?5",
                             axis, node.first, node.second, sum & kHashMask, kHashMask));
  }
  return {};
}

Status Shard::extend_ranges(BlockingToken& token, Stream& stream, Range range) {
  std::vector<Range> after = stream.ranges;
  add_range(after, range);
  const Range grown = *range_holding(after, range.first);
  for (const Range& old : stream.ranges) {
    if (old.first < grown.first || old.end > grown.end) continue;
    if (old.first == grown.first) continue;  // replaced below
    LGR_CHECK(database_->run(token, "DELETE FROM ranges WHERE stream=? AND first=?", stream.row,
                             old.first));
  }
  LGR_CHECK(database_->run(token,
                           "INSERT OR REPLACE INTO ranges(stream, first, end) VALUES(?, ?, ?)",
                           stream.row, grown.first, grown.end));
  stream.ranges = std::move(after);
  return {};
}

Result<std::int64_t> Shard::call_site_row(BlockingToken& token, const std::string& site) {
  if (auto known = call_sites_.find(site); known != call_sites_.end()) return known->second;
  LGR_CHECK(database_->run(token, "INSERT OR IGNORE INTO call_sites(site) VALUES(?)", site));
  LGR_TRY(auto row, database_->number(token, "SELECT id FROM call_sites WHERE site=?", site));
  call_sites_.emplace(site, row.value_or(0));
  return row.value_or(0);
}

Status Shard::put_facts(BlockingToken& token, Stream& stream, const BlockHeader& header,
                        const BlockFacts& facts, Follows follows) {
  const auto version = stream.versions.find(header.attributes_version);
  std::optional<std::int64_t> process;
  std::optional<std::int64_t> axis;
  std::string host;
  if (version != stream.versions.end()) {
    process = axis = version->second.process;
    host = version->second.host;
    if (!axis && !version->second.axis.empty() && !facts.iterations.empty()) {
      LGR_TRY(axis, process_row(token, version->second.axis, host));
    }
  }
  // A stream of nobody known has its own axis, under its negated row.
  LGR_CHECK(put_iterations(token, stream, facts, axis.value_or(-stream.row), follows));
  for (const std::int32_t rank : facts.wrapper_ranks) {
    if (wrapper_ranks_.contains(rank)) continue;
    LGR_CHECK(database_->run(token, "INSERT OR IGNORE INTO wrapper_ranks(rank) VALUES(?)", rank));
    wrapper_ranks_.insert(rank);
  }
  for (const auto& [site, count] : facts.call_sites) {
    LGR_TRY(std::int64_t row, call_site_row(token, site));
    LGR_CHECK(database_->run(
        token,
        "INSERT INTO call_site_counts(call_site, stream, version, lines, bytes) VALUES(?, ?, ?, ?, "
        "?) ON CONFLICT(call_site, stream, version) DO UPDATE SET lines=lines+excluded.lines, "
        "bytes=bytes+excluded.bytes",
        row, stream.row, header.attributes_version, count.lines, count.bytes));
  }
  for (const BlockFacts::Event& event : facts.events) {
    LGR_CHECK(database_->run(
        token,
        "INSERT OR IGNORE INTO events(stream, offset, version, process, host, iteration, time, "
        "rule, kind, class) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        stream.row, event.offset, header.attributes_version, process, host, event.iteration,
        event.time, event.mark.rule, event.mark.kind, event.mark.klass));
  }
  return {};
}

}  // namespace logarithm::aggregator
