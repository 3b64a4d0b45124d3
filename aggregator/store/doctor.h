#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

struct DoctorOptions {
  std::string data_dir;
  bool read_only = false;  // look only: nothing is moved, repaired or recovered
};

struct ShardReport {
  std::string path;
  std::string tenant, job;  // empty when the shard does not tell
  std::uint64_t bytes = 0, blocks = 0, lines = 0, damaged_blocks = 0;
  std::vector<std::string> problems;  // what is wrong
  std::vector<std::string> done;      // what became of it
};

struct DoctorReport {
  std::vector<ShardReport> shards;
  std::vector<std::string> catalogue;  // what is wrong with it, or between it and the shards
  std::vector<std::string> notes;      // nothing is wrong with these
  std::uint64_t set_aside = 0;         // files that lie there as damaged, of this run or earlier
  bool healthy() const;
};

// Examines a data directory: SQLite's own check of every file, the checksum of every block, block
// against row, ranges and templates of blocks, the template index, catalogue against shards.
//
// What is damaged is moved aside, never deleted: a file that SQLite finds damaged becomes
// "….bad"; a damaged block becomes "part-N.db.block-ID.bad", and its range counts as not stored, so
// that agents that still have those bytes send them again. An index that is wrong is built anew
// from the templates. An Error: the directory cannot be examined at all.
//
// Nobody else may write there meanwhile, unless `read_only`.
Result<DoctorReport> examine(BlockingToken&, const DoctorOptions& options);

std::string to_text(const DoctorReport& report);
std::string to_json(const DoctorReport& report);

}  // namespace logarithm::aggregator
