#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "aggregator/store/iteration_hash.h"
#include "common/block/block_reader.h"
#include "common/block/block_writer.h"

namespace logarithm::aggregator {

// What the shard's tables take from a block beside its bytes.
struct BlockFacts {
  struct Count {
    std::uint64_t lines = 0, bytes = 0;
  };
  struct Event {
    std::uint64_t offset = 0;
    UnixNanos time = 0;
    std::optional<std::int64_t> iteration;
    EventMark mark;
  };
  // Iteration -> first order time; of lines without a stamp as late as a clock's tick allows.
  std::map<std::int64_t, UnixNanos> iterations;
  std::vector<IterationRun> runs;           // in offset order
  std::map<std::string, Count> call_sites;  // call site -> lines and bytes
  std::vector<Event> events;
  std::set<std::int32_t> wrapper_ranks;  // that its lines name
  std::uint64_t errors = 0;              // lines of severity error and above
};

// Decodes only the columns that the header says are needed.
Result<BlockFacts> facts_of(const BlockReader& block);

// The lines and gaps of `block` in [first, cut_at), as a block of its own. A line across `cut_at`
// is shortened and flagged `partial` where its bytes are plain file bytes; else it becomes a gap
// `overlap_cut`. `plain`: without templates.
Result<EncodedBlock> cut_block(const BlockReader& block, std::uint64_t cut_at,
                               const TemplateLookup& lookup, bool plain);

}  // namespace logarithm::aggregator
