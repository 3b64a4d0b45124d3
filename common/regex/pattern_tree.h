#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace logarithm {

// A set of bytes.
struct ByteSet {
  std::array<std::uint64_t, 4> bits{};

  bool has(unsigned char c) const { return (bits[c >> 6] >> (c & 63) & 1) != 0; }
  void add(unsigned char c) { bits[c >> 6] |= std::uint64_t{1} << (c & 63); }
  void add_range(unsigned char from, unsigned char to) {
    for (unsigned c = from; c <= to; ++c) add(static_cast<unsigned char>(c));
  }
  void add(const ByteSet& other) {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other.bits[i];
  }
  bool meets(const ByteSet& other) const {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if ((bits[i] & other.bits[i]) != 0) return true;
    }
    return false;
  }
  void flip() {
    for (auto& word : bits) word = ~word;
  }
  bool operator==(const ByteSet&) const = default;
};

// A pattern over bytes (RE2's Perl syntax in Latin-1 mode), taken apart.
struct PatternNode {
  enum class Kind : std::uint8_t {
    empty,
    bytes,        // one byte of `set`
    sequence,     // all children, in order
    alternation,  // one child, the first that leads to a match
    repeat,       // the child, `least` to `most` times (most < 0: no limit)
    capture,      // the child, as group `group`
    begin_text,
    end_text,
    word_boundary,
    no_word_boundary,
  };
  Kind kind = Kind::empty;
  ByteSet set;
  std::vector<PatternNode> children;
  int least = 0, most = 0;
  bool greedy = true;
  int group = 0;
};

// nullopt for what this reader does not know; `pattern` must be one that RE2 accepts.
std::optional<PatternNode> parse_pattern(std::string_view pattern, bool fold_case);

}  // namespace logarithm
