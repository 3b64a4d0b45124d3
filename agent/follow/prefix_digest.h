#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logarithm::agent {

// Running hash of a file's bytes [0, offset), and the last 256 of them. 64 bits, eight bytes at a
// time, not cryptographic: it tells a copy from a look-alike. Does not depend on how the bytes were
// cut.
class PrefixDigest {
 public:
  PrefixDigest() = default;

  void add(std::string_view bytes);
  void add_zeros(std::uint64_t count);

  std::uint64_t offset() const { return offset_; }
  std::uint64_t value() const;
  // The last min(256, offset) bytes.
  const std::string& tail() const { return tail_; }
  std::uint32_t tail_crc() const;

  // For the checkpoint: everything but the tail, which is read from the file again.
  std::string to_text() const;
  // A digest at `offset` with an unknown hash value: tails still compare, known() is false.
  static PrefixDigest unknown(std::uint64_t offset, std::string tail);
  // Reads to_text(); unknown() when the text is damaged or stands at another offset.
  static PrefixDigest from_text(std::string_view text, std::uint64_t offset, std::string tail);
  bool known() const { return known_; }

 private:
  void mix(std::string_view bytes);

  std::uint64_t offset_ = 0;
  std::uint64_t hash_ = 0x9E3779B97F4A7C15ull;
  std::uint64_t pending_ = 0;  // offset_ % 8 bytes that do not fill a word yet
  bool known_ = true;
  std::string tail_;
};

// Values of the running hash at many earlier offsets: dense near the end, sparser further back, at
// most kCapacity. With it a copy that is shorter than what was read can still be recognised.
class HashLadder {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::uint64_t kStep = 1024;

  void add(const PrefixDigest& digest);
  // The highest rung at or below `offset`; {0, 0} when there is none.
  std::pair<std::uint64_t, std::uint64_t> below(std::uint64_t offset) const;
  void clear() { rungs_.clear(); }

  // The newest `count` rungs for the checkpoint, and back.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> newest(std::size_t count) const;
  void restore(std::vector<std::pair<std::uint64_t, std::uint64_t>> rungs);

 private:
  void thin_out();

  std::vector<std::pair<std::uint64_t, std::uint64_t>> rungs_;
};

// Feeds `bytes` into `digest` and notes the rungs on the way.
void add_with_rungs(PrefixDigest& digest, HashLadder& ladder, std::string_view bytes);

}  // namespace logarithm::agent
