#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace logarithm {

// The first and the last byte are known to be the same.
inline bool same_middle(const char* text, const std::string& wanted) {
  for (std::size_t i = 1; i + 1 < wanted.size(); ++i) {
    if (text[i] != wanted[i]) return false;
  }
  return true;
}

// Where `wanted` stands first at or behind `from`: where its first and last byte stand at the same
// time, 16 places at once; memmem() makes a table for every call. `fits(at)` may refuse a place.
// `wanted` is not empty; npos: nowhere.
template <typename Fits>
std::size_t find_text(std::string_view text, const std::string& wanted, std::size_t from,
                      Fits fits) {
  using Bytes = unsigned char __attribute__((vector_size(16)));
  const std::size_t size = wanted.size();
  const char* data = text.data();
  Bytes first{}, last{};
  first += static_cast<unsigned char>(wanted.front());
  last += static_cast<unsigned char>(wanted.back());
  for (; from + size + sizeof(Bytes) - 1 <= text.size(); from += sizeof(Bytes)) {
    Bytes begins, ends;
    std::memcpy(&begins, data + from, sizeof begins);
    std::memcpy(&ends, data + from + size - 1, sizeof ends);
    const Bytes both = reinterpret_cast<Bytes>((begins == first) & (ends == last));
    std::uint64_t halves[2];
    std::memcpy(halves, &both, sizeof halves);
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::uint64_t bits = halves[half] & 0x0101010101010101u; bits != 0; bits &= bits - 1) {
        const std::size_t at =
            from + 8 * half + static_cast<std::size_t>(std::countr_zero(bits)) / 8;
        if (same_middle(data + at, wanted) && fits(at)) return at;
      }
    }
  }
  from = text.find(wanted, from);
  while (from != std::string_view::npos && !fits(from)) from = text.find(wanted, from + 1);
  return from;
}

}  // namespace logarithm
