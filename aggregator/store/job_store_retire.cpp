// Retention's part of a job: whole shards go, the oldest first.
#include <filesystem>

#include "aggregator/store/job_store.h"
#include "aggregator/store/process_merge.h"
#include "aggregator/store/range_set.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {

Result<Retained> JobStore::what_to_retain(BlockingToken& token, Shard& shard) {
  Retained out;
  out.at = clock_.wall_now();
  LGR_TRY(PartFacts facts, load_part_facts(token, shard.database()));
  for (StreamFacts& stream : facts.streams) {
    RetainedStream kept;
    kept.id = stream.id;
    kept.closed = std::move(stream.closed);
    kept.versions = std::move(stream.versions);
    kept.ranges = std::move(stream.ranges);
    kept.at = out.at;
    // What is known to be missing is not to be looked for either.
    for (const Gap& gap : stream.gaps) {
      if (gap.to && *gap.to > gap.from) add_range(kept.ranges, Range{gap.from, *gap.to});
    }
    LGR_TRY(const Shard::Stream* row, shard.find_stream(token, kept.id));
    if (row != nullptr) {
      kept.head = row->head;
      kept.tail_end = row->tail_end;
      kept.tail_crc = row->tail_crc;
    }
    LGR_TRY(auto infos, shard.stream_infos(token, kept.id));
    if (!infos.empty()) kept.predecessor = infos.back().predecessor;
    out.streams.emplace(kept.id, std::move(kept));
  }
  for (ProcessInfo& process : facts.processes) {
    const std::string key = process.key();
    out.processes.emplace(key, std::move(process));
  }
  return out;
}

Result<std::uint64_t> JobStore::retire(BlockingToken& token, std::uint32_t part) {
  std::lock_guard lock(write_);
  LGR_CHECK(let_go_of_vanished(token));
  if (parts_.empty() || parts_.front()->part() != part) return std::uint64_t{0};
  auto described = what_to_retain(token, *parts_.front());
  if (!described.ok()) {
    after_failure(token, described.error());  // a damaged one is moved aside
    return described.error();
  }
  Retained gone = std::move(*described);
  LGR_CHECK(catalogue_.retire_part(token, job_, part, gone));
  LGR_TRY(Retained all, catalogue_.retained(token, job_));
  retained_ = std::make_shared<const Retained>(std::move(all));
  next_part_ = std::max(next_part_, part + 1);
  std::unique_ptr<Shard> shard = std::move(parts_.front());
  parts_.erase(parts_.begin());
  part_count_.store(parts_.size());
  {
    std::lock_guard readers(read_);
    reader_parts_.erase(reader_parts_.begin());
    readers_.erase(readers_.begin());
    facts_.reset();
    read_retained_ = retained_;
  }
  // Unlinked before it is closed: closing would move the WAL into a file that nobody needs.
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code problem;
    const std::string path = part_path(part) + suffix;
    const auto size = std::filesystem::file_size(path, problem);
    if (!problem) bytes += size;
    std::filesystem::remove(path, problem);
    // It comes back at the next start and is retired again; nothing is wrong meanwhile.
    if (problem) LGR_WARN("shard not unlinked path={} error={}", path, problem.message());
  }
  counters_.retired.fetch_add(1);
  counters_.retired_bytes.fetch_add(bytes);
  return bytes;
}

Status JobStore::roll(BlockingToken& token) {
  std::lock_guard lock(write_);
  if (parts_.empty()) return {};
  LGR_TRY(const auto first, parts_.back()->first_ingested(token));
  if (!first) return {};
  LGR_INFO("shard rolled for retention job={} part={}", job_.key.job, parts_.back()->part());
  return open_part(token, next_part_++);
}

}  // namespace logarithm::aggregator
