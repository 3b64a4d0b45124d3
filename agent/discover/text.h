#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logarithm::agent {

// Valid UTF-8 without control characters: anything else becomes U+FFFD. What comes from
// environments, command lines and paths ends up in JSON.
std::string clean_text(std::string_view bytes);

// Decimal digits only, at most 2^31 - 1; nullopt otherwise.
std::optional<std::int32_t> parse_count(std::string_view text);

}  // namespace logarithm::agent
