#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "aggregator/store/retained.h"
#include "aggregator/store/sqlite.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// What one part says of its job, as of one commit.
struct PartFacts {
  std::int64_t commit = 0;
  std::vector<StreamFacts> streams;
  std::vector<std::int64_t> rows;  // of `streams` in the part, same positions
  std::vector<ProcessInfo> processes;
  std::set<std::int32_t> wrapper_ranks;  // that lines name
  std::uint64_t errors = 0;
};
Result<PartFacts> load_part_facts(BlockingToken&, Database& reader);
Result<std::int64_t> load_commit(BlockingToken&, Database& reader);

// The facts of a job over all its parts, immutable and shared by snapshots.
struct JobFacts {
  std::vector<StreamFacts> streams;
  std::vector<ProcessFacts> processes;
  std::set<std::int32_t> wrapper_ranks;
  std::uint64_t errors = 0;
  // Per part: its row of `streams` -> position in `streams`.
  std::vector<std::unordered_map<std::int64_t, std::size_t>> positions;
  std::vector<std::int64_t> commits;  // per part
};
// `retained`: what is remembered of parts that are gone.
JobFacts merge_facts(std::vector<PartFacts> parts, const Retained& retained = {});

JobSummary summarise(const std::string& job, const JobFacts& facts, UnixNanos now);

}  // namespace logarithm::aggregator
