#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/model/process.h"
#include "common/model/stream.h"
#include "common/wire/frame.h"

// Storage as an interface that speaks of blocks, ranges and candidates, not of SQL or rows.
// Implementations: sqlite (embedded). Every call that may block takes a BlockingToken.
namespace logarithm::aggregator {

struct JobKey {
  std::string tenant = "default";
  std::string job;
  auto operator<=>(const JobKey&) const = default;
};

// ---- ingest

// One thing to store. Items of one batch are one transaction, in order; a block's ranges,
// templates, events, call sites and iterations are written in it too.
using IngestItem = std::variant<wire::StreamInfo, wire::Processes, wire::Templates, wire::Block,
                                wire::Closed, wire::GapReport>;

// What became of an item; for a block: stored (also when it was stored before: a replay changes
// nothing) or why not.
struct IngestOutcome {
  bool stored = true;
  std::optional<wire::Refuse> refuse;
};

struct StorageStats {
  std::uint64_t shards = 0, open_shards = 0, blocks = 0, inbox_blocks = 0;
  std::uint64_t lines = 0, bytes = 0;  // ingested since start: lines, raw bytes
  std::uint64_t disk_bytes = 0, wal_bytes = 0;
  std::uint64_t quarantined = 0, vanished = 0;   // shards since start: damaged; removed or replaced
  std::uint64_t retired = 0, retired_bytes = 0;  // shards that retention unlinked since start
  std::optional<std::uint64_t> free_bytes;       // of the data directory's disk
  bool read_only = false;                        // blocks are refused for want of space
};

// A host's clock as an agent and the aggregator measured it together.
struct ClockReading {
  UnixNanos at = 0;         // aggregator's clock
  std::int64_t offset = 0;  // aggregator's clock minus the host's, nanoseconds
  std::int64_t error = 0;   // by how much that may be wrong, either way
  bool operator==(const ClockReading&) const = default;
};
struct HostClock {
  std::string tenant, host;
  ClockReading reading;
};

// ---- query

// A stream generation with all its facts.
struct StreamFacts {
  StreamId id;
  std::vector<StreamAttributes> versions;  // ascending
  std::vector<Range> ranges;               // stored, merged, ascending
  std::vector<Gap> gaps;                   // ascending, those in blocks and those reported
  std::optional<wire::Closed> closed;
  std::uint64_t lines = 0, raw_bytes = 0;
  std::optional<UnixNanos> first_time, last_time;
  std::optional<std::int64_t> last_iteration;
  bool lacks_wrapper_ranks = false;  // surely no stored line has one

  // The version in force at `offset`.
  const StreamAttributes* at(std::uint64_t offset) const;
};

struct ProcessFacts {
  ProcessInfo info;
  std::optional<std::int32_t> attempt;  // computed; see attempts.h
};

// A block that may hold matching lines.
struct BlockRef {
  std::uint64_t shard = 0, id = 0;  // stays readable while the snapshot lives
  std::size_t stream = 0;           // index into JobSnapshot::streams()
  std::uint32_t attributes_version = 0;
  std::uint64_t first = 0, end = 0;
  std::uint32_t lines = 0;
  UnixNanos time_min = 0, time_max = 0;
};

// What storage itself can exclude by its index columns; every member absent or empty means no
// limit.
struct BlockFilter {
  std::optional<UnixNanos> start, end;           // order time in [start, end)
  std::optional<std::set<std::size_t>> streams;  // indices into streams()
  std::uint8_t severities = 0xFF;                // bits; a block with none of them is out
  std::optional<MinMax<std::int64_t>> iteration;
};

// When a process's lines first said an iteration (order time).
struct IterationStart {
  UnixNanos time = 0;
  std::int64_t iteration = 0;
  auto operator<=>(const IterationStart&) const = default;
};

// A template whose text a shard stores; slots as kSlot.
struct TemplateText {
  TemplateId id = 0;
  std::string text;
};

// A node of the hash tree over iterations: see iteration_hash.h.
struct IterationNode {
  std::int64_t node = 0;
  std::uint64_t hash = 0;
};

// A consistent view of one job over all its shards, for one query or page. Not thread-safe; used by
// one worker at a time. Facts are loaded at once, blocks on demand.
class JobSnapshot {
 public:
  virtual ~JobSnapshot() = default;
  virtual const std::vector<StreamFacts>& streams() const = 0;
  virtual const std::vector<ProcessFacts>& processes() const = 0;
  // The ranks that lines name.
  virtual const std::set<std::int32_t>& wrapper_ranks() const = 0;

  // Ascending by time_min.
  virtual Result<std::vector<BlockRef>> candidates(BlockingToken&, const BlockFilter& filter) = 0;
  // The first `most` blocks of a stream (an index into streams()) that hold anything at or beyond
  // `offset`, ascending. Cheap, however many blocks the job has.
  virtual Result<std::vector<BlockRef>> blocks_from(BlockingToken&, std::size_t stream,
                                                    std::uint64_t offset, std::size_t most) = 0;
  // The header part (with token filter) of a block; see parse_block_header().
  virtual Result<std::string> block_header(BlockingToken&, const BlockRef& block) = 0;
  // The whole encoded block.
  virtual Result<std::string> block_bytes(BlockingToken&, const BlockRef& block) = 0;

  // The iterations of a process (ProcessInfo::key()) over all its streams, in any order.
  virtual Result<std::vector<IterationStart>> iterations(BlockingToken&,
                                                         const std::string& process) = 0;

  // The hashes of a process's iterations (iteration_axis() of its streams), nodes of one level in
  // [first, last], ascending. Error{unavailable} when a shard is older than the hashes.
  virtual Result<std::vector<IterationNode>> iteration_nodes(BlockingToken&,
                                                             const std::string& axis,
                                                             unsigned level, std::int64_t first,
                                                             std::int64_t last) = 0;

  // All body templates whose text is stored, ascending by id, each once.
  virtual Result<std::vector<TemplateText>> body_templates(BlockingToken&) = 0;
  // The text of a template, nullopt when unknown to the block's shard. Cached by the snapshot.
  virtual Result<std::optional<std::string_view>> template_text(BlockingToken&, std::uint64_t shard,
                                                                TemplateId id) = 0;
  // Body templates of a shard whose text contains `literal` (bytes; ASCII case as given, or
  // folded). Uses FTS5 trigrams where the literal is long enough; never misses one.
  virtual Result<std::set<TemplateId>> templates_containing(BlockingToken&, std::uint64_t shard,
                                                            std::string_view literal,
                                                            bool fold_case) = 0;
};

struct JobSummary {
  std::string job;
  std::vector<std::int32_t> attempts;
  bool running = false;
  std::optional<std::int32_t> world_size;
  std::set<std::int32_t> ranks;
  std::set<std::string> hosts;
  std::uint64_t lines = 0, bytes = 0, errors = 0;
  std::optional<UnixNanos> first_time, last_time;
  std::optional<std::int64_t> last_iteration;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Everything stored of a base in this job, over all parts.
  virtual Result<std::vector<StoredGeneration>> stored(BlockingToken&, const JobKey& job,
                                                       StreamBase base) = 0;
  // Stores a batch durably (fsynced when it returns). An Error means nothing of it was stored.
  virtual Result<std::vector<IngestOutcome>> apply(BlockingToken&, const JobKey& job,
                                                   const std::vector<IngestItem>& items) = 0;
  // Merges fresh blocks where it is worth it, rolls and checkpoints; called by the background loop.
  // True when there is more to do.
  virtual Result<bool> maintain(BlockingToken&) = 0;

  virtual Result<std::vector<JobKey>> jobs(BlockingToken&, const std::string& tenant) = 0;
  // Error{not_found} for an unknown job.
  virtual Result<JobSummary> summary(BlockingToken&, const JobKey& job) = 0;
  virtual Result<std::shared_ptr<JobSnapshot>> snapshot(BlockingToken&, const JobKey& job) = 0;
  // The job that holds a stream (for context by line id); not_found otherwise.
  virtual Result<JobKey> job_of(BlockingToken&, const std::string& tenant, StreamId stream) = 0;

  // Keeps readings of clocks as history; old ones are forgotten (30 days).
  virtual Status add_clock_readings(BlockingToken&, const std::vector<HostClock>& readings) = 0;
  // A host's clock history, ascending by `at`; empty when nothing is known. A reading stands until
  // the next: between two the clock moved by no more than what they differ in.
  virtual Result<std::vector<ClockReading>> clock_history(BlockingToken&, const std::string& tenant,
                                                          const std::string& host) = 0;

  virtual StorageStats stats() const = 0;  // thread-safe, does not block
  // Grows when something that was acknowledged may not be stored any more (a damaged or vanished
  // shard): agents must compare again. Thread-safe, does not block.
  virtual std::uint64_t losses() const = 0;
};

}  // namespace logarithm::aggregator
