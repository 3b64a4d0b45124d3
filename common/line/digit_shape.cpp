#include "common/line/digit_shape.h"

#include <cstdint>
#include <cstring>

namespace logarithm {
namespace {

using Bytes = unsigned char __attribute__((vector_size(16)));
constexpr std::size_t kBlock = sizeof(Bytes);

// Sixteen bytes at once; `x` gets bits where one of them is an x.
void fold_block(const char* in, char* out, Bytes& x) {
  Bytes bytes;
  std::memcpy(&bytes, in, kBlock);
  const Bytes digits = reinterpret_cast<Bytes>((bytes - '0') < 10);
  x |= reinterpret_cast<Bytes>((bytes | 0x20) == 'x');
  bytes = (bytes & ~digits) | (digits & '1');
  std::memcpy(out, &bytes, kBlock);
}

// Zeros of 0x are what they were.
void keep_hex(std::string_view text, char* out) {
  for (const char x : {'x', 'X'}) {
    for (std::size_t at = text.find(x); at != std::string_view::npos; at = text.find(x, at + 1)) {
      if (at > 0 && text[at - 1] == '0') out[at - 1] = '0';
    }
  }
}

}  // namespace

void fold_digits(std::string_view text, char* out) {
  const std::size_t size = text.size();
  Bytes x{};
  if (size >= kBlock) {
    for (std::size_t at = 0; at + kBlock < size; at += kBlock) {
      fold_block(text.data() + at, out + at, x);
    }
    fold_block(text.data() + size - kBlock, out + size - kBlock, x);
  } else {
    char block[kBlock] = {};
    if (size > 0) std::memcpy(block, text.data(), size);
    fold_block(block, block, x);
    if (size > 0) std::memcpy(out, block, size);
  }
  std::uint64_t halves[2];
  std::memcpy(halves, &x, sizeof halves);
  if ((halves[0] | halves[1]) != 0) keep_hex(text, out);
}

}  // namespace logarithm
