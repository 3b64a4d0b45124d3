#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/types.h"

namespace logarithm::agent {

// How to find a followed file again, and what was known about it: StreamCheckpoint::source, as
// JSON. Unknown keys are ignored, missing ones keep these defaults.
struct SourceState {
  std::string path;  // the newest
  bool imported = false;
  std::uint64_t inode = 0;
  UnixNanos birth = 0;
  std::uint64_t size = 0;  // at the last look
  UnixNanos seen = 0;      // wall time of the last look
  UnixNanos grown = 0;     // wall time of the last look that found it larger
  std::uint64_t rate = 0;  // bytes a second that it grew by lately
  std::string digest;      // PrefixDigest::to_text() at the checkpoint's position
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rungs;  // of the hash ladder, newest few
  std::vector<StreamBase> copies;  // copytruncate copies of earlier generations: never read
  UnixNanos closed_at = 0;
  std::string kernel;  // boot id: the kernel's log of that boot, no file
  bool operator==(const SourceState&) const = default;
};

std::string to_json_text(const SourceState& state);
// Defaults when the text is not readable: the file is then found by its path among the targets.
SourceState parse_source_state(std::string_view text);

}  // namespace logarithm::agent
