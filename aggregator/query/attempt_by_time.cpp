#include "aggregator/query/attempt_by_time.h"

#include <algorithm>
#include <map>

namespace logarithm::aggregator {

std::vector<AttemptLife> attempt_lives(const std::vector<ProcessFacts>& processes) {
  std::map<std::int32_t, AttemptLife> lives;
  for (const ProcessFacts& process : processes) {
    if (!process.attempt) continue;
    const ProcessInfo& info = process.info;
    const UnixNanos start = info.start - std::max<UnixNanos>(info.start_error, 0);
    const UnixNanos end = std::max(info.exit.value_or(info.last_seen), info.start);
    const auto [at, fresh] =
        lives.try_emplace(*process.attempt, AttemptLife{*process.attempt, start, end});
    if (fresh) continue;
    at->second.start = std::min(at->second.start, start);
    at->second.end = std::max(at->second.end, end);
  }
  std::vector<AttemptLife> out;
  for (const auto& [attempt, life] : lives) out.push_back(life);
  return out;
}

std::optional<std::int32_t> attempt_by_time(const StreamFacts& stream,
                                            const std::vector<AttemptLife>& lives) {
  if (!stream.first_time || !stream.last_time) return std::nullopt;
  // A time that was not printed is when the agent saw the line, which may be after the end.
  for (const UnixNanos late : {UnixNanos{0}, kSeenLate}) {
    std::optional<std::int32_t> found;
    for (const AttemptLife& life : lives) {
      if (life.start > *stream.last_time || life.end + late < *stream.first_time) continue;
      if (found) return std::nullopt;
      found = life.attempt;
    }
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace logarithm::aggregator
