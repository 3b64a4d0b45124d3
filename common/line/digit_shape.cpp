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

std::uint64_t word_at(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__extension__ using Wide = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_shape(std::string_view shape) {
  constexpr std::uint64_t kA = 0x9E3779B97F4A7C15u, kB = 0xC2B2AE3D27D4EB4Fu;
  std::uint64_t hash = shape.size() * kA;
  if (shape.size() < kBlock) {
    char block[kBlock] = {};
    if (!shape.empty()) std::memcpy(block, shape.data(), shape.size());
    return mix(mix(word_at(block) ^ kA, word_at(block + 8) ^ kB ^ hash), kA);
  }
  const char* const last = shape.data() + shape.size() - kBlock;
  for (const char* at = shape.data(); at < last; at += kBlock) {
    hash = mix(word_at(at) ^ kA, word_at(at + 8) ^ kB ^ hash);
  }
  return mix(mix(word_at(last) ^ kA, word_at(last + 8) ^ kB ^ hash), kA);
}

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
