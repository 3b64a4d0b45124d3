#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/async/blocking.h"
#include "common/base/types.h"

namespace logarithm::agent {

// Minutes east of UTC at `at` of a process whose TZ variable is `tz` (nullopt: not set, then this
// host's own zone). Knows "UTC", POSIX forms without daylight saving ("JST-9", "<+09>-9") and the
// zone files under `zoneinfo`. nullopt where that does not tell: never a guess.
std::optional<std::int32_t> utc_offset_minutes(BlockingToken&, const std::optional<std::string>& tz,
                                               UnixNanos at,
                                               const std::string& zoneinfo = "/usr/share/zoneinfo");

// What is wrong with a zone that a configuration names, and what to write instead; nullopt when
// utc_offset_minutes() tells its offset at `at`. Blocks.
std::optional<std::string> time_zone_problem(const std::string& tz, UnixNanos at,
                                             const std::string& zoneinfo = "/usr/share/zoneinfo");

// "JST-9", "<-0330>3:30", "UTC0": minutes east of UTC. nullopt for daylight saving forms.
std::optional<std::int32_t> parse_posix_zone(std::string_view text);

// The offset that a TZif file (RFC 8536) has at `at`, in seconds.
std::optional<std::int32_t> tzif_offset(std::string_view bytes, std::int64_t at_seconds);

}  // namespace logarithm::agent
