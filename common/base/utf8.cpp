#include "common/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace logarithm {
namespace {

struct Piece {
  std::size_t length;
  bool valid;
};

// The well-formed sequence at the start of `s`, or its longest ill-formed prefix (Unicode 15,
// table 3-7).
Piece first_piece(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= s.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

// Length of the ASCII run at the start of `s`.
std::size_t ascii_prefix(std::string_view s) {
  std::size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, s.data() + i, 8);
    if ((word & 0x8080808080808080ull) != 0) break;
  }
  while (i < s.size() && static_cast<unsigned char>(s[i]) < 0x80) ++i;
  return i;
}

}  // namespace

bool valid_utf8(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) return true;
    const Piece piece = first_piece(bytes);
    if (!piece.valid) return false;
    bytes.remove_prefix(piece.length);
  }
}

std::string sanitize_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (true) {
    const std::size_t plain = ascii_prefix(bytes);
    out.append(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) return out;
    const Piece piece = first_piece(bytes);
    out.append(piece.valid ? bytes.substr(0, piece.length) : std::string_view("\xEF\xBF\xBD"));
    bytes.remove_prefix(piece.length);
  }
}

}  // namespace logarithm
