#pragma once

#include <cstdint>

#include "common/base/types.h"

// Hashes that tell whether two ranks printed the same templates in an iteration, kept at ingest.
//
// A *run* is a maximal sequence of a stream's lines with one iteration that the stream itself said;
// its hash depends on the order of the templates. Runs add up, over the streams of a process, to
// the iteration's hash (level 0), and those to nodes of 64, 4,096 and 262,144 iterations: a tree
// whose every node is a sum, so that a block changes a few rows and no order of arrival matters.
namespace logarithm::aggregator {

inline constexpr unsigned kHashLevels = 4;
inline constexpr unsigned kHashBits = 6;  // a node has 64 children

// Hashes are sums modulo 2^62, so that SQL can add two of them without leaving int64.
inline constexpr std::uint64_t kHashMask = (std::uint64_t{1} << 62) - 1;

constexpr std::int64_t hash_node(std::int64_t iteration, unsigned level) {
  return iteration >> (kHashBits * level);
}

constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

struct IterationRun {
  std::int64_t iteration = 0;
  std::uint64_t hash = 0;  // of the templates in their order
  std::uint64_t lines = 0;

  void add(TemplateId id) {
    hash = hash * kBase + mix_bits(id);
    ++lines;
  }
  // As if the lines of `next` had been added one by one.
  void append(const IterationRun& next) {
    std::uint64_t power = 1, base = kBase;
    for (std::uint64_t n = next.lines; n != 0; n >>= 1, base *= base) {
      if ((n & 1) != 0) power *= base;
    }
    hash = hash * power + next.hash;
    lines += next.lines;
  }
  // What the run adds to the nodes it is in.
  std::uint64_t amount() const {
    return mix_bits(hash ^ mix_bits(lines + 0x9e3779b97f4a7c15ull) ^
                    mix_bits(static_cast<std::uint64_t>(iteration) * 0xd6e8feb86659fd93ull)) &
           kHashMask;
  }

 private:
  static constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ull;
};

}  // namespace logarithm::aggregator
