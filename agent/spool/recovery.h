#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/spool/spool_index.h"
#include "common/io/file_system.h"

namespace logarithm::agent {

// What a start found in the spool's directory.
struct RecoveryReport {
  std::uint64_t segments = 0;
  std::uint64_t records = 0;
  std::uint64_t torn_bytes = 0;      // cut from the end of the last segment: normal after a crash
  std::uint64_t skipped_bytes = 0;   // damaged elsewhere
  std::uint64_t broken_streams = 0;  // streams that go on before the damage, or ask the aggregator
  std::uint64_t quarantined = 0;     // files set aside as *.bad
  bool damaged() const { return skipped_bytes != 0 || broken_streams != 0 || quarantined != 0; }
};

std::string segment_path(const std::string& directory, std::uint64_t sequence);

// Reads all segments of `directory` into `index` and cuts a torn tail. `dropped` are blocks that
// still lie in a file but must not be sent. Damaged content never makes this fail; Error is what
// the operating system refused.
Result<RecoveryReport> recover_segments(BlockingToken&, FileSystem& files,
                                        const std::string& directory, SpoolIndex& index,
                                        std::vector<std::uint64_t>& dropped);

// Renames a file to `<path>.bad` and keeps at most a few of those.
Status quarantine(BlockingToken&, FileSystem& files, const std::string& directory,
                  const std::string& name);

}  // namespace logarithm::agent
