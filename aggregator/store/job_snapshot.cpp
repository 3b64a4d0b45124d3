#include "aggregator/store/job_snapshot.h"

#include <algorithm>
#include <tuple>

#include "aggregator/store/iteration_hash.h"
#include "aggregator/store/template_search.h"

namespace logarithm::aggregator {
namespace {

// Exactly the columns of the index blocks_scan: the blocks themselves are not touched.
#define LGR_SELECT \
  "SELECT id, stream, version, first, end, lines, time_min, time_max, severities FROM "
constexpr std::string_view kSealed = LGR_SELECT "blocks";
constexpr std::string_view kFresh = LGR_SELECT "inbox";
constexpr std::string_view kSealedOf = LGR_SELECT "blocks WHERE stream=?";
constexpr std::string_view kFreshOf = LGR_SELECT "inbox WHERE stream=?";
#define LGR_BEFORE " WHERE stream=? AND first<? ORDER BY first DESC LIMIT ?"
#define LGR_FROM " WHERE stream=? AND first>=? ORDER BY first LIMIT ?"
constexpr std::string_view kSealedBefore = LGR_SELECT "blocks" LGR_BEFORE;
constexpr std::string_view kFreshBefore = LGR_SELECT "inbox" LGR_BEFORE;
constexpr std::string_view kSealedFrom = LGR_SELECT "blocks" LGR_FROM;
constexpr std::string_view kFreshFrom = LGR_SELECT "inbox" LGR_FROM;
#undef LGR_BEFORE
#undef LGR_FROM
#undef LGR_SELECT

// False only when no line of the row can pass.
bool may_pass(const Statement& row, const BlockFilter& filter) {
  if (filter.end && row.integer(6) >= *filter.end) return false;
  if (filter.start && row.integer(7) < *filter.start) return false;
  if (filter.severities != 0xFF && (row.integer(8) & filter.severities) == 0) return false;
  // A line without an iteration of its own may get one from the shard's table: only a block whose
  // stream said nothing but other iterations could be excluded, and the row does not say that all
  // of its lines have one. So iterations prune by the header, not here.
  return true;
}

}  // namespace

SqliteSnapshot::~SqliteSnapshot() {
  for (std::size_t i = 0; i < view_.readers.size(); ++i) {
    view_.pools[i]->give_back(std::move(view_.readers[i]));
  }
}

Result<std::size_t> SqliteSnapshot::position(std::uint64_t shard) const {
  const auto at = std::find(view_.parts.begin(), view_.parts.end(), shard);
  if (at == view_.parts.end()) return Error(ErrorCode::invalid, "a block of another snapshot");
  return static_cast<std::size_t>(at - view_.parts.begin());
}

Status SqliteSnapshot::add_candidates(BlockingToken& token, std::size_t part, bool inbox,
                                      const BlockFilter& filter, std::vector<BlockRef>& out) {
  const auto& positions = view_.facts->positions[part];
  const auto add = [&](Statement& rows) -> Status {
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) return {};
      if (rows.integer(5) == 0 || !may_pass(rows, filter)) continue;
      const auto stream = positions.find(rows.integer(1));
      if (stream == positions.end()) {
        return Error(ErrorCode::corrupt, "a block of no stream");
      }
      if (filter.streams && !filter.streams->contains(stream->second)) continue;
      out.push_back(block_of(rows, part, inbox, stream->second));
    }
  };
  // Of few streams the blocks are looked up; what others have need not be passed.
  if (filter.streams && filter.streams->size() * 4 < view_.facts->streams.size()) {
    LGR_TRY(Statement rows, view_.readers[part]->prepare(inbox ? kFreshOf : kSealedOf));
    for (const std::size_t stream : *filter.streams) {
      const auto row = rows_of(part).find(stream);
      if (row == rows_of(part).end()) continue;
      rows.reset();
      rows.bind_all(row->second);
      LGR_CHECK(add(rows));
    }
    return {};
  }
  LGR_TRY(Statement rows, view_.readers[part]->prepare(inbox ? kFresh : kSealed));
  return add(rows);
}

BlockRef SqliteSnapshot::block_of(const Statement& row, std::size_t part, bool inbox,
                                  std::size_t stream) const {
  BlockRef block;
  block.shard = view_.parts[part];
  block.id = row.u64(0) * 2 + (inbox ? 1 : 0);
  block.stream = stream;
  block.attributes_version = row.u32(2);
  block.first = row.u64(3);
  block.end = row.u64(4);
  block.lines = row.u32(5);
  block.time_min = row.integer(6);
  block.time_max = row.integer(7);
  return block;
}

Result<std::vector<BlockRef>> SqliteSnapshot::candidates(BlockingToken& token,
                                                         const BlockFilter& filter) {
  std::vector<BlockRef> blocks;
  for (std::size_t part = 0; part < view_.readers.size(); ++part) {
    LGR_CHECK(add_candidates(token, part, false, filter, blocks));
    LGR_CHECK(add_candidates(token, part, true, filter, blocks));
  }
  std::sort(blocks.begin(), blocks.end(), [&](const BlockRef& a, const BlockRef& b) {
    return std::tuple(a.time_min, view_.facts->streams[a.stream].id, a.first) <
           std::tuple(b.time_min, view_.facts->streams[b.stream].id, b.first);
  });
  return blocks;
}

// Two seeks in the scan index: blocks of a stream do not overlap, so only the last one that begins
// before `offset` can hold it. Offsets are compared as the signed numbers they are stored as: a
// stream past 2^63 (no file is) would be read from its smallest one on.
Status SqliteSnapshot::add_blocks_from(BlockingToken& token, std::size_t part, bool inbox,
                                       std::size_t stream, std::uint64_t offset, std::size_t most,
                                       std::vector<BlockRef>& out) {
  const auto row_id = rows_of(part).find(stream);
  if (row_id == rows_of(part).end()) return {};
  const auto add = [&](std::string_view sql, std::uint64_t limit) -> Status {
    LGR_TRY(Statement rows, view_.readers[part]->prepare(sql));
    rows.bind_all(row_id->second, offset, limit);
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) return {};
      if (rows.u64(4) > offset) out.push_back(block_of(rows, part, inbox, stream));
    }
  };
  LGR_CHECK(add(inbox ? kFreshBefore : kSealedBefore, 1));
  return add(inbox ? kFreshFrom : kSealedFrom, most);
}

const std::unordered_map<std::size_t, std::int64_t>& SqliteSnapshot::rows_of(std::size_t part) {
  rows_.resize(view_.readers.size());
  if (rows_[part].empty()) {
    for (const auto& [row, position] : view_.facts->positions[part]) {
      rows_[part].emplace(position, row);
    }
  }
  return rows_[part];
}

Result<std::vector<BlockRef>> SqliteSnapshot::blocks_from(BlockingToken& token, std::size_t stream,
                                                          std::uint64_t offset, std::size_t most) {
  std::vector<BlockRef> blocks;
  for (std::size_t part = 0; part < view_.readers.size(); ++part) {
    LGR_CHECK(add_blocks_from(token, part, false, stream, offset, most, blocks));
    LGR_CHECK(add_blocks_from(token, part, true, stream, offset, most, blocks));
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const BlockRef& a, const BlockRef& b) { return a.first < b.first; });
  if (blocks.size() > most) blocks.resize(most);
  return blocks;
}

Result<std::string> SqliteSnapshot::read_block(BlockingToken& token, const BlockRef& block,
                                               bool whole) {
  LGR_TRY(std::size_t part, position(block.shard));
  Database& reader = *view_.readers[part];
  const bool inbox = (block.id & 1) != 0;
  std::string_view sql =
      inbox ? "SELECT header FROM inbox WHERE id=?" : "SELECT header FROM blocks WHERE id=?";
  if (whole) {
    sql = inbox ? "SELECT header, body FROM inbox WHERE id=?"
                : "SELECT header, body FROM blocks WHERE id=?";
  }
  LGR_TRY(Statement row, reader.prepare(sql));
  row.bind_all(block.id / 2);
  LGR_TRY(bool found, row.step(token));
  if (!found) return Error(ErrorCode::not_found, "a block of another snapshot");
  std::string bytes;
  const std::string_view header = row.bytes(0);
  const std::string_view body = whole ? row.bytes(1) : std::string_view();
  bytes.reserve(header.size() + body.size());
  bytes.append(header).append(body);
  return bytes;
}

Result<std::vector<IterationStart>> SqliteSnapshot::iterations(BlockingToken& token,
                                                               const std::string& process) {
  std::map<std::int64_t, UnixNanos> first;  // the same iteration may lie in several parts
  for (const auto& reader : view_.readers) {
    LGR_TRY(Statement rows, reader->prepare("SELECT iteration, first_time FROM iterations WHERE "
                                            "process=(SELECT id FROM processes WHERE key=?)"));
    rows.bind_all(process);
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) break;
      const auto [at, added] = first.emplace(rows.integer(0), rows.integer(1));
      if (!added) at->second = std::min(at->second, rows.integer(1));
    }
  }
  std::vector<IterationStart> result;
  for (const auto& [iteration, time] : first) result.push_back({time, iteration});
  return result;
}

Result<std::vector<IterationNode>> SqliteSnapshot::iteration_nodes(BlockingToken& token,
                                                                   const std::string& axis,
                                                                   unsigned level,
                                                                   std::int64_t first,
                                                                   std::int64_t last) {
  std::map<std::int64_t, std::uint64_t> sums;  // one iteration may lie in several parts
  for (const auto& reader : view_.readers) {
    LGR_TRY(auto since, reader->number(token, "SELECT value FROM meta WHERE key='hashes'"));
    if (!since) return Error(ErrorCode::unavailable, "a part is older than the iteration hashes");
    LGR_TRY(Statement rows,
            reader->prepare(level == 0 ? "SELECT iteration, hash FROM iterations WHERE "
                                         "process=(SELECT id FROM processes WHERE key=?1) AND "
                                         "iteration BETWEEN ?3 AND ?4 AND ?2=0"
                                       : "SELECT node, hash FROM iteration_nodes WHERE "
                                         "process=(SELECT id FROM processes WHERE key=?1) AND "
                                         "level=?2 AND node BETWEEN ?3 AND ?4"));
    rows.bind_all(axis, level, first, last);
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) break;
      sums[rows.integer(0)] += rows.u64(1);
    }
  }
  std::vector<IterationNode> result;
  result.reserve(sums.size());
  for (const auto& [node, hash] : sums) result.push_back({node, hash & kHashMask});
  return result;
}

Result<std::vector<TemplateText>> SqliteSnapshot::body_templates(BlockingToken& token) {
  std::map<TemplateId, std::string> texts;
  for (const auto& reader : view_.readers) {
    LGR_TRY(Statement rows, reader->prepare("SELECT id, text FROM templates WHERE kind=?"));
    rows.bind_all(static_cast<int>(TemplateKind::body));
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) break;
      texts.try_emplace(rows.u64(0), rows.bytes(1));
    }
  }
  std::vector<TemplateText> result;
  result.reserve(texts.size());
  for (auto& [id, text] : texts) result.push_back({id, std::move(text)});
  return result;
}

Result<std::string> SqliteSnapshot::block_header(BlockingToken& token, const BlockRef& block) {
  return read_block(token, block, false);
}

Result<std::string> SqliteSnapshot::block_bytes(BlockingToken& token, const BlockRef& block) {
  return read_block(token, block, true);
}

Result<std::optional<std::string_view>> SqliteSnapshot::template_text(BlockingToken& token,
                                                                      std::uint64_t shard,
                                                                      TemplateId id) {
  LGR_TRY(std::size_t part, position(shard));
  auto known = templates_[part].find(id);
  if (known == templates_[part].end()) {
    LGR_TRY(Statement row, view_.readers[part]->prepare("SELECT text FROM templates WHERE id=?"));
    row.bind_all(id);
    LGR_TRY(bool found, row.step(token));
    std::optional<std::string> text;
    if (found) text.emplace(row.bytes(0));
    known = templates_[part].emplace(id, std::move(text)).first;
  }
  if (!known->second) return std::optional<std::string_view>();
  return std::optional<std::string_view>(*known->second);
}

Result<std::set<TemplateId>> SqliteSnapshot::templates_containing(BlockingToken& token,
                                                                  std::uint64_t shard,
                                                                  std::string_view literal,
                                                                  bool fold_case) {
  LGR_TRY(std::size_t part, position(shard));
  return search_templates(token, *view_.readers[part], literal, fold_case);
}

}  // namespace logarithm::aggregator
