#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace logarithm::aggregator {

// The alphabet of RFC 4648 section 5, without padding: for cursors, which travel in URLs.
std::string base64url(std::string_view bytes);
// nullopt for a character of another alphabet.
std::optional<std::string> from_base64url(std::string_view text);

// A checksum against cursors that were cut or typed, not against anybody's intent.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325ull);

}  // namespace logarithm::aggregator
