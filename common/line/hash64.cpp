#include "common/line/hash64.h"

#include <bit>
#include <cstring>

namespace logarithm {
namespace {

constexpr std::uint64_t kP1 = 0x9E3779B185EBCA87ull, kP2 = 0xC2B2AE3D27D4EB4Full,
                        kP3 = 0x165667B19E3779F9ull, kP4 = 0x85EBCA77C2B2AE63ull,
                        kP5 = 0x27D4EB2F165667C5ull;
static_assert(std::endian::native == std::endian::little, "reads words as little endian");

std::uint64_t read64(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
std::uint64_t read32(const char* p) {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kP2, 31) * kP1;
}

}  // namespace

std::uint64_t hash64(std::string_view bytes) {
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t h = kP5;
  if (left >= 32) {
    std::uint64_t lanes[4] = {kP1 + kP2, kP2, 0, 0 - kP1};
    for (; left >= 32; left -= 32) {
      for (auto& lane : lanes) {
        lane = round(lane, read64(p));
        p += 8;
      }
    }
    h = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
        std::rotl(lanes[3], 18);
    for (auto lane : lanes) h = (h ^ round(0, lane)) * kP1 + kP4;
  }
  h += bytes.size();
  for (; left >= 8; left -= 8, p += 8) h = std::rotl(h ^ round(0, read64(p)), 27) * kP1 + kP4;
  if (left >= 4) {
    h = std::rotl(h ^ (read32(p) * kP1), 23) * kP2 + kP3;
    left -= 4;
    p += 4;
  }
  for (; left > 0; --left, ++p) {
    h = std::rotl(h ^ (static_cast<unsigned char>(*p) * kP5), 11) * kP1;
  }
  h = (h ^ (h >> 33)) * kP2;
  h = (h ^ (h >> 29)) * kP3;
  return h ^ (h >> 32);
}

}  // namespace logarithm
