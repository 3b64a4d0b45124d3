#pragma once

#include <cstddef>
#include <cstdint>

#include "common/block/block_format.h"

// What one block may cost a reader in memory, beside the limits of block_format.h. Compression and
// constant columns let a few bytes stand for many, so every kind of growth has its own cap. The
// writer refuses (or stores plainly) what a reader would refuse.
namespace logarithm::block {

inline constexpr std::size_t kMaxSectionBytes = 96u << 20;  // one section, decompressed
inline constexpr std::size_t kMaxColumns = 1u << 20;        // of one section
inline constexpr std::size_t kMaxHeaderItems = 1u << 18;  // call sites, fields, events, gaps: each
inline constexpr std::size_t kMaxItems = 4u << 20;        // pairs, event refs, extents together
inline constexpr std::size_t kMaxCopiedBytes = block_format::kMaxRawBytes;  // of their strings
inline constexpr std::size_t kMaxDictionary = 4u << 20;   // entries of all dictionaries together
inline constexpr std::size_t kMaxSlotColumns = 1u << 18;  // (template, slot) pairs

// Counts down what is left of a cap.
class Budget {
 public:
  explicit Budget(std::size_t left) : left_(left) {}
  bool take(std::size_t amount) {
    if (amount > left_) return false;
    left_ -= amount;
    return true;
  }

 private:
  std::size_t left_;
};

// What lines hold beside their raw bytes.
struct ItemBudget {
  Budget items{kMaxItems};
  Budget bytes{kMaxCopiedBytes};
  Budget dictionary{kMaxDictionary};
};

}  // namespace logarithm::block
