#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace logarithm::config {

// "250ms", "10s", "1h30m", "0": whole numbers of ns, us, ms, s, m, h, d, added up. Error{invalid}
// for anything else, a missing unit and overflow.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
// The shortest exact spelling: "1m30s".
std::string format_duration(std::chrono::nanoseconds duration);

// "64MiB", "1GiB", "512KiB", "10B", "4096": a whole number of bytes, binary units only.
Result<std::uint64_t> parse_size(std::string_view text);
// The largest unit that divides it: "64MiB".
std::string format_size(std::uint64_t bytes);

// `text` as a double-quoted YAML scalar, for generated configuration.
std::string yaml_quote(std::string_view text);

}  // namespace logarithm::config
