#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// Says of most texts that none of a few literals is in them, at a fraction of the cost of a scan:
// each literal has a rare byte, its anchor; the text is searched for the anchors 16 bytes at once,
// and where one stands two bytes beside it are looked up. Immutable after build(); the case of
// letters does not matter.
class LiteralPrefilter {
 public:
  // False, and then not to be used, when the literals are too many or too short.
  bool build(const std::vector<std::string>& literals);

  // True proves nothing.
  bool may_occur(std::string_view text) const;

 private:
  static constexpr std::size_t kAnchors = 3, kShortest = 3, kMostLiterals = 64;
  static constexpr std::size_t kBuckets = 4096;

  // Which bytes beside an anchor are looked at.
  enum Side : unsigned char { kBefore = 1, kAround = 2, kBehind = 4 };

  bool choose_anchors(const std::vector<std::string>& literals);
  bool stands_at(std::string_view text, std::size_t at) const;
  bool known(Side side, char anchor, char a, char b) const {
    const std::size_t bucket = bucket_of(side, anchor, a, b);
    return (buckets_[bucket / 64] >> (bucket % 64) & 1) != 0;
  }
  static std::size_t bucket_of(Side side, char anchor, char a, char b);

  std::vector<unsigned char> anchors_;  // with bit 0x20 set, as everything here
  unsigned char sides_ = 0;
  std::array<std::uint64_t, kBuckets / 64> buckets_{};
};

}  // namespace logarithm
