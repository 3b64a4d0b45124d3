#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/types.h"

namespace logarithm {

// Version `version` of a stream's attributes, valid from `from` until the next version's `from`.
// One file may serve several attempts, ranks and names. A block never spans two versions. All but
// the job may be corrected later.
struct StreamAttributes {
  std::uint32_t version = 0;
  std::uint64_t from = 0;
  std::string job;
  std::string process;  // ProcessInfo::key(), empty when there is none
  // Where processes of several ranks wrote: the key of one of them. Its attempt is theirs, its rank
  // is not, and `process` is empty.
  std::string run_of;
  std::optional<std::int32_t> attempt;  // stated (path group, LOGARITHM_ATTEMPT); else by process
  std::optional<std::int32_t> rank;     // of the process or the path; never guessed
  std::optional<std::int32_t> local_rank;
  std::string rank_source;
  std::string host;
  std::string name;                  // "stdout", "stderr", "kernel", else the path
  std::vector<std::string> aliases;  // other names of the same bytes: "stderr" for 2>&1
  std::vector<std::string> paths;    // every path it was seen under, newest last
  // What else the path says: run_id, pod, container, session, …
  std::map<std::string, std::string> labels;
  bool operator==(const StreamAttributes&) const = default;
};

// Whose iterations lines of the stream without one inherit: the process's key, else, where the path
// states a rank, a name for that rank of that attempt; empty when neither is known. Key of the
// shard's table of iterations, so that it never changes.
std::string iteration_axis(const StreamAttributes& attributes);

// What is missing from a stream, and why. `to` is absent where nobody can know it.
struct Gap {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> to;
  std::string reason;  // line_too_long, nul_hole, redacted, truncated, copytruncate, deleted, …
  UnixNanos at = 0;
  bool operator==(const Gap&) const = default;
};

// What the aggregator holds of one generation of a base: its answer to stream-open.
struct StoredGeneration {
  std::uint32_t generation = 0;
  std::string head;            // the first bytes of the file, at most 1 KiB
  std::vector<Range> ranges;   // stored, merged, ascending
  std::uint32_t tail_crc = 0;  // CRC32C of the min(256, end) source bytes before the last end
  bool closed = false;
  std::uint32_t last_version = 0;  // the newest attribute version
  std::vector<Range> lost;         // not stored, and known to be missing (gaps with an end)
  bool operator==(const StoredGeneration&) const = default;
};

inline constexpr std::size_t kHeadBytes = 1024;
inline constexpr std::size_t kTailBytes = 256;
// Stands in a stored head where the file has a secret.
inline constexpr char kHeadMask = '\xFF';

// True when the file that begins with `bytes` may be the one whose stored head is `head`: equal as
// far as both go.
bool fits_head(std::string_view bytes, std::string_view head);

}  // namespace logarithm
