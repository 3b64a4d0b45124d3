#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace logarithm {

// Where the mask of `body` looked at how many digits a number has: `2f` and `2f3a41` are masked in
// other ways, `2` and `24341` are not. A body whose other numbers have more digits, or fewer, has
// the same template, if both have no quotes or at most kLongestQuoted bytes (a longer string in
// quotes is none). `digits` gets one place or more of each such number.
inline constexpr std::size_t kLongestQuoted = 256;
void mask_widths(std::string_view body, std::vector<std::uint32_t>& digits);

}  // namespace logarithm
