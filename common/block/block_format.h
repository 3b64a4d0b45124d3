#pragma once

#include <cstdint>

// Constants of the block format only; the byte tables are in common/block/README.md.
namespace logarithm::block_format {

inline constexpr char kMagic[4] = {'L', 'G', 'B', 'K'};
inline constexpr std::uint16_t kVersion = 1;  // written
inline constexpr std::uint16_t kOldestReadable = 1;
inline constexpr std::uint8_t kTokenizerVersion = 1;
inline constexpr std::uint32_t kMaxBlockBytes = 16u << 20;  // encoded; readers refuse more
inline constexpr std::uint32_t kMaxRawBytes = 64u << 20;    // decoded; readers refuse more
inline constexpr std::uint32_t kMaxLines = 1u << 20;
inline constexpr std::uint32_t kSealedRawBytes = 2u << 20;  // aim of the seal

}  // namespace logarithm::block_format
