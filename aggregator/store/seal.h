#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/store/shard.h"

// Sealing: fresh blocks of one stream and version that follow each other become one block of 1–2 MB
// raw text. Read, encode and swap are apart, so that the writer is only kept out of the first and
// the last.
namespace logarithm::aggregator {

struct SealLimits {
  UnixNanos idle = 30'000'000'000;  // without news for so long, two blocks are many
  std::uint64_t enough = 1u << 20;  // raw bytes that are sealed at once
  std::size_t many = 16;            // fresh blocks of like size that are merged meanwhile
  std::uint64_t most = block_format::kSealedRawBytes;
  bool nothing_follows = false;  // seal whatever is there
};

// A run of adjacent rows of `inbox` to become one row.
struct SealRun {
  std::int64_t stream = 0;
  std::uint32_t version = 0;
  std::vector<std::int64_t> rows;  // of `inbox`, by offset
  bool into_blocks = true;         // else it goes back into the inbox, bigger
};

// Runs that are worth it now, at most `limit`.
Result<std::vector<SealRun>> find_runs(BlockingToken&, Shard& shard, UnixNanos now,
                                       const SealLimits& limits, std::size_t limit);

struct LoadedRun {
  SealRun run;
  StreamId stream;
  std::vector<std::string> blocks;  // encoded
  std::unordered_map<TemplateId, std::string> texts;
  UnixNanos ingested = 0;  // of the newest
};
Result<LoadedRun> load_run(BlockingToken&, Shard& shard, const SealRun& run);

// One block with the same lines, gaps and range; without templates when `plain`. Touches no
// database.
Result<EncodedBlock> merge_run(BlockingToken&, const LoadedRun& run, bool plain);

// Swaps the rows, inside a transaction of the caller.
Status swap_run(BlockingToken&, Shard& shard, const LoadedRun& run, const EncodedBlock& merged);
// Moves the rows as they are: for a run that cannot be merged (a damaged block), so that it is not
// tried again and again. Inside a transaction of the caller.
Status move_run(BlockingToken&, Shard& shard, const SealRun& run);

}  // namespace logarithm::aggregator
