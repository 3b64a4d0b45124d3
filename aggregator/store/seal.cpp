#include "aggregator/store/seal.h"

#include <algorithm>
#include <utility>

namespace logarithm::aggregator {
namespace {

struct Fresh {
  std::int64_t row = 0, stream = 0;
  std::uint32_t version = 0;
  std::uint64_t first = 0, end = 0, raw = 0;
  UnixNanos ingested = 0, time_min = 0, time_max = 0;
  bool closed = false;
};

Result<std::vector<Fresh>> load_fresh(BlockingToken& token, Shard& shard) {
  LGR_TRY(Statement rows,
          shard.database().prepare(
              "SELECT id, stream, version, first, end, raw_bytes, ingested, EXISTS(SELECT 1 FROM "
              "closed WHERE closed.stream=inbox.stream), time_min, time_max FROM inbox "
              "WHERE tombstones IS NULL"));
  std::vector<Fresh> fresh;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) break;
    Fresh block;
    block.row = rows.integer(0);
    block.stream = rows.integer(1);
    block.version = rows.u32(2);
    block.first = rows.u64(3);
    block.end = rows.u64(4);
    block.raw = rows.u64(5);
    block.ingested = rows.integer(6);
    block.closed = rows.integer(7) != 0;
    block.time_min = rows.integer(8);
    block.time_max = rows.integer(9);
    fresh.push_back(block);
  }
  std::sort(fresh.begin(), fresh.end(), [](const Fresh& a, const Fresh& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.first < b.first;
  });
  return fresh;
}

using Span = std::vector<Fresh>::const_iterator;

// A clock was set: a block of both sides would overlap everything between them, and each question
// about a moment of that time would decode it. Not for the little that a quiet stream has.
constexpr UnixNanos kStepBack = 60'000'000'000, kStepForth = 600'000'000'000;
constexpr std::uint64_t kCostly = 64u << 10;

bool steps_between(const Fresh& left, const Fresh& right) {
  return right.time_min < left.time_max - kStepBack || right.time_min - kStepForth > left.time_max;
}

SealRun make_run(Span from, Span to, bool into_blocks) {
  SealRun run;
  run.stream = from->stream;
  run.version = from->version;
  for (; from != to; ++from) run.rows.push_back(from->row);
  run.into_blocks = into_blocks;
  return run;
}

// [from, to) are adjacent blocks of one stream and version. `last`: nothing can follow directly
// (the stream goes on elsewhere), so what is there may be sealed.
void runs_of(Span from, Span to, bool last, UnixNanos now, const SealLimits& limits,
             std::vector<SealRun>& runs) {
  while (from != to) {
    std::uint64_t raw = 0;
    Span stop = from;
    while (stop != to &&
           (stop == from || (raw + stop->raw <= limits.most &&
                             (raw < kCostly || !steps_between(*(stop - 1), *stop))))) {
      raw += (stop++)->raw;
    }
    UnixNanos newest = 0;
    for (Span block = from; block != stop; ++block) newest = std::max(newest, block->ingested);
    const bool full = raw >= limits.enough || stop != to;
    if (full || last || from->closed) {
      runs.push_back(make_run(from, stop, true));
      from = stop;
      continue;
    }
    // Not enough yet, and more may follow: it stays in the inbox, however slow the stream is, or it
    // would end as a heap of tiny blocks. The newest blocks are merged there as soon as many of
    // like size lie in a row (or two, when nothing comes): each byte is rewritten only a
    // logarithmic number of times.
    Span start = stop;
    std::uint64_t sum = 0;
    while (start != from && (start == stop || (start - 1)->raw <= 2 * sum)) sum += (--start)->raw;
    const std::size_t many = now - newest >= limits.idle ? 2 : limits.many;
    if (static_cast<std::size_t>(stop - start) >= many) {
      runs.push_back(make_run(start, stop, false));
    }
    return;
  }
}

}  // namespace

Result<std::vector<SealRun>> find_runs(BlockingToken& token, Shard& shard, UnixNanos now,
                                       const SealLimits& limits, std::size_t limit) {
  LGR_TRY(const std::vector<Fresh> fresh, load_fresh(token, shard));
  std::vector<SealRun> runs;
  for (auto from = fresh.begin(); from != fresh.end() && runs.size() < limit;) {
    auto to = from + 1;
    while (to != fresh.end() && to->stream == from->stream && to->version == from->version &&
           to->first == (to - 1)->end) {
      ++to;
    }
    // Blocks after a hole or of a newer version show that this run will not grow at its end, except
    // when the hole is filled, which is rare and only costs a smaller block.
    const bool last = limits.nothing_follows || (to != fresh.end() && to->stream == from->stream);
    runs_of(from, to, last, now, limits, runs);
    from = to;
  }
  if (runs.size() > limit) runs.resize(limit);
  return runs;
}

Result<LoadedRun> load_run(BlockingToken& token, Shard& shard, const SealRun& run) {
  LoadedRun loaded;
  loaded.run = run;
  {
    LGR_TRY(Statement id, shard.database().prepare(
                              "SELECT base_hi, base_lo, generation FROM streams WHERE id=?"));
    id.bind_all(run.stream);
    LGR_TRY(bool found, id.step(token));
    if (!found) return Error(ErrorCode::corrupt, "an inbox block of no stream");
    loaded.stream = StreamId{StreamBase{id.u64(0), id.u64(1)}, id.u32(2)};
  }
  LGR_TRY(Statement block,
          shard.database().prepare("SELECT header, body, ingested FROM inbox WHERE id=?"));
  for (std::int64_t row : run.rows) {
    block.reset();
    block.bind_all(row);
    LGR_TRY(bool found, block.step(token));
    if (!found) return Error(ErrorCode::not_found, "an inbox block went away");
    std::string bytes(block.bytes(0));
    bytes += block.bytes(1);
    loaded.ingested = std::max(loaded.ingested, block.integer(2));
    auto header = parse_block_header(bytes);
    loaded.blocks.push_back(std::move(bytes));
    // Damage is found again, and reported, by merge_run().
    if (!header.ok()) continue;
    for (TemplateId id : header->stored_templates) {
      if (loaded.texts.contains(id)) continue;
      LGR_TRY(auto definition, shard.find_template(token, id));
      if (definition) loaded.texts.emplace(id, std::move(definition->text));
    }
  }
  return loaded;
}

Result<EncodedBlock> merge_run(BlockingToken&, const LoadedRun& run, bool plain) {
  auto lookup = [&](TemplateId id) -> std::optional<std::string_view> {
    const auto at = run.texts.find(id);
    if (at == run.texts.end()) return std::nullopt;
    return at->second;
  };
  BlockWriter writer(run.stream, run.run.version);
  writer.set_plain(plain);
  std::uint64_t first = 0, end = 0, lines = 0;
  std::uint32_t tail_crc = 0;
  bool begun = false;
  for (const std::string& bytes : run.blocks) {
    LGR_TRY(BlockReader reader, BlockReader::open(bytes));
    const BlockHeader& header = reader.header();
    if (!std::exchange(begun, true)) first = header.first;
    LGR_TRY(auto decoded,
            reader.lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup));
    for (const Line& line : decoded) writer.add(line);
    for (const Gap& gap : header.gaps) writer.add_gap(gap);
    lines += header.lines;
    end = header.end;
    tail_crc = header.tail_crc;
  }
  writer.set_first(first);
  writer.set_end(end);
  LGR_TRY(EncodedBlock merged, writer.finish(tail_crc));
  if (merged.header.lines != lines || merged.header.first != first || merged.header.end != end) {
    return Error(ErrorCode::corrupt, "the merged block does not hold what its parts held");
  }
  return merged;
}

Status swap_run(BlockingToken& token, Shard& shard, const LoadedRun& run,
                const EncodedBlock& merged) {
  for (const TemplateDef& definition : merged.templates) {
    LGR_TRY(auto put, shard.put_template(token, definition));
    if (put == Shard::PutTemplate::conflict) {
      return Error(ErrorCode::conflict, "a fingerprint with another text is stored");
    }
  }
  LGR_CHECK(shard.put_block_row(token, run.run.into_blocks ? "blocks" : "inbox", run.run.stream,
                                merged.header, merged.bytes, run.ingested));
  for (std::int64_t row : run.run.rows) {
    LGR_CHECK(shard.database().run(token, "DELETE FROM inbox WHERE id=?", row));
  }
  return {};
}

Status move_run(BlockingToken& token, Shard& shard, const SealRun& run) {
#define LGR_COLUMNS                                                                     \
  "stream, version, first, end, lines, raw_bytes, time_min, time_max, observed_min, "   \
  "observed_max, iteration_min, iteration_max, rank_min, rank_max, severities, flags, " \
  "ingested, header, body"
  for (std::int64_t row : run.rows) {
    LGR_CHECK(shard.database().run(
        token, "INSERT INTO blocks(" LGR_COLUMNS ") SELECT " LGR_COLUMNS " FROM inbox WHERE id=?",
        row));
    LGR_CHECK(shard.database().run(token, "DELETE FROM inbox WHERE id=?", row));
  }
#undef LGR_COLUMNS
  return {};
}

}  // namespace logarithm::aggregator
