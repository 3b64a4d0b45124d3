#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// When an attempt's processes lived, all of them together: [start, end].
struct AttemptLife {
  std::int32_t attempt = 0;
  UnixNanos start = 0, end = 0;
};

// Ascending by attempt. A process without an exit lived until it was last seen.
std::vector<AttemptLife> attempt_lives(const std::vector<ProcessFacts>& processes);

// The file of a rank that died at once is claimed some seconds after it was noticed, and a scan may
// be late.
inline constexpr UnixNanos kSeenLate = 15'000'000'000;

// The attempt of a stream that no process of ours wrote (its writer died before any scan saw it, or
// several ranks wrote it): the one whose processes lived while its lines were written, if exactly
// one did; else the one that ended at most kSeenLate before. nullopt otherwise: never a guess.
std::optional<std::int32_t> attempt_by_time(const StreamFacts& stream,
                                            const std::vector<AttemptLife>& lives);

}  // namespace logarithm::aggregator
