#pragma once

#include <cstdint>
#include <string_view>

namespace logarithm {

// CRC32C (Castagnoli) of `bytes`. `seed` is the CRC of the bytes before them, so that
// crc32c(b, crc32c(a)) == crc32c(a + b). Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

// The same from a table, for processors without the instruction (and to check one by the other).
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t seed = 0);

}  // namespace logarithm
