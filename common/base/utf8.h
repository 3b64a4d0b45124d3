#pragma once

#include <string>
#include <string_view>

namespace logarithm {

// True when `bytes` are well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
bool valid_utf8(std::string_view bytes);

// `bytes` with U+FFFD for every maximal ill-formed piece; the result is always valid.
std::string sanitize_utf8(std::string_view bytes);

}  // namespace logarithm
