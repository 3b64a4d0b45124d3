#pragma once

#include <cstdint>

namespace logarithm::agent {

// Counters of one follower since it was made. File thread only; copy to read elsewhere.
struct FollowStats {
  std::uint64_t bytes = 0, lines = 0, blocks = 0;
  std::uint64_t gaps = 0;          // all reasons
  std::uint64_t nul_bytes = 0;     // left out as nul_hole
  std::uint64_t truncated = 0;     // same head (or empty), shorter: next generation
  std::uint64_t replaced = 0;      // another head under the same identity: next generation
  std::uint64_t copies = 0;        // copytruncate copies recognised
  std::uint64_t deleted = 0;       // closed because the file is gone
  std::uint64_t abandoned = 0;     // deleted files given up unread, over their bound
  std::uint64_t handles_lost = 0;  // ESTALE, EIO
  std::uint64_t no_space = 0;      // appends refused: reading paused
  std::uint64_t stale_names = 0;   // names that lead to a removed file: mounted one by one
  std::uint64_t open_errors = 0;
  std::uint64_t open_waits = 0;  // put off for want of descriptors
  std::uint64_t encode_errors = 0;
  std::uint64_t store_losses = 0;      // streams of which the aggregator lost acknowledged bytes
  std::uint64_t store_lost_bytes = 0;  // … and how many those were
  std::uint64_t refilled_bytes = 0;    // of them read again
};

}  // namespace logarithm::agent
