#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace logarithm {

// Where the mask of `body` (at most 256 bytes) looked at how many digits a number has: `2f` and
// `2f3a41` are masked in other ways, `2` and `24341` are not. A body whose other numbers have more
// digits, or fewer, has the same template if it is not over 256 bytes either. `digits` gets one
// place or more of each such number.
void mask_widths(std::string_view body, std::vector<std::uint32_t>& digits);

}  // namespace logarithm
