#include "common/io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace logarithm {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Slicing by eight: table k is the CRC of a byte followed by k zero bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t below = tables[k - 1][i];
      tables[k][i] = (below >> 8) ^ tables[0][below & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t by_byte(std::uint32_t crc, unsigned char byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ byte) & 255];
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes,
                                                             std::uint32_t seed) {
  std::uint64_t crc = ~seed;
  const char* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; data += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++data, --left) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*data));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::array<unsigned char, 8> b;
    std::memcpy(b.data(), bytes.data() + i, 8);
    crc = kTables[7][(b[0] ^ crc) & 255] ^ kTables[6][(b[1] ^ (crc >> 8)) & 255] ^
          kTables[5][(b[2] ^ (crc >> 16)) & 255] ^ kTables[4][b[3] ^ (crc >> 24)] ^
          kTables[3][b[4]] ^ kTables[2][b[5]] ^ kTables[1][b[6]] ^ kTables[0][b[7]];
  }
  for (; i < bytes.size(); ++i) crc = by_byte(crc, static_cast<unsigned char>(bytes[i]));
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(bytes, seed);
#endif
  return crc32c_portable(bytes, seed);
}

}  // namespace logarithm
