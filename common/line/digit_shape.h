#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace logarithm {

// The shape of a text: every digit a '1', all else as it is; but a '0' in front of an x or X stays,
// because 0x begins a hex number and 1x does not. Texts of one shape have the same mask, and
// whatever looks at no digit's value finds the same in them, at the same places.
//
// Writes text.size() bytes to `out`, which does not overlap `text`.
void fold_digits(std::string_view text, char* out);

// Of a shape, for tables in memory. Good and quick, and no part of any format.
std::uint64_t hash_shape(std::string_view shape);

}  // namespace logarithm
