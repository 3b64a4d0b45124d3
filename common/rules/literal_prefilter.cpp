#include "common/rules/literal_prefilter.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace logarithm {
namespace {

using Bytes = unsigned char __attribute__((vector_size(16)));

char folded(char c) { return static_cast<char>(c | 0x20); }

// How often a byte is met in logs, roughly.
unsigned commonness(char c) {
  if (c >= 'a' && c <= 'z')
    return std::string_view("qzjx").find(c) == std::string_view::npos ? 8 : 1;
  return c >= '0' && c <= '9' ? 10 : c == ' ' ? 12 : 3;
}

}  // namespace

std::size_t LiteralPrefilter::bucket_of(Side side, char anchor, char a, char b) {
  const auto number = [](char c) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(c));
  };
  const std::uint32_t key =
      (number(folded(a)) << 16 | number(folded(b)) << 8 | number(anchor)) * 4 + side;
  return (key * 0x9E3779B1u) >> 20;
}

bool LiteralPrefilter::choose_anchors(const std::vector<std::string>& literals) {
  std::vector<std::string> left = literals;
  anchors_.clear();
  while (!left.empty()) {
    if (anchors_.size() == kAnchors) return false;
    // The byte that most literals have, if it is rare elsewhere.
    double best = 0;
    char anchor = 0;
    for (unsigned value = 1; value < 256; ++value) {
      const char c = static_cast<char>(value);
      if (folded(c) != c) continue;
      const auto having = std::count_if(left.begin(), left.end(), [c](const std::string& literal) {
        return literal.find(c) != std::string::npos;
      });
      const double score = static_cast<double>(having) / commonness(c);
      if (score > best) {
        best = score;
        anchor = c;
      }
    }
    anchors_.push_back(static_cast<unsigned char>(anchor));
    std::erase_if(left, [anchor](const std::string& literal) {
      return literal.find(anchor) != std::string::npos;
    });
  }
  return true;
}

bool LiteralPrefilter::build(const std::vector<std::string>& literals) {
  if (literals.empty() || literals.size() > kMostLiterals) return false;
  std::vector<std::string> all = literals;
  for (std::string& literal : all) {
    if (literal.size() < kShortest) return false;
    std::transform(literal.begin(), literal.end(), literal.begin(), folded);
  }
  if (!choose_anchors(all)) return false;
  sides_ = 0;
  buckets_ = {};
  for (const std::string& literal : all) {
    // At the first anchor that the literal has, wherever it stands first.
    for (const unsigned char value : anchors_) {
      const char anchor = static_cast<char>(value);
      const std::size_t at = literal.find(anchor);
      if (at == std::string::npos) continue;
      const Side side = at >= 2 ? kBefore : at == 1 ? kAround : kBehind;
      const char a = side == kBefore ? literal[at - 2] : side == kAround ? literal[0] : literal[1];
      const char b = side == kBefore ? literal[at - 1] : literal[2];
      const std::size_t bucket = bucket_of(side, anchor, a, b);
      buckets_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
      sides_ = static_cast<unsigned char>(sides_ | side);
      break;
    }
  }
  return true;
}

// Whether a literal may stand around the anchor at `at`.
bool LiteralPrefilter::stands_at(std::string_view text, std::size_t at) const {
  const char anchor = folded(text[at]);
  if ((sides_ & kBefore) != 0 && at >= 2 && known(kBefore, anchor, text[at - 2], text[at - 1])) {
    return true;
  }
  if ((sides_ & kAround) != 0 && at >= 1 && at + 1 < text.size() &&
      known(kAround, anchor, text[at - 1], text[at + 1])) {
    return true;
  }
  return (sides_ & kBehind) != 0 && at + 2 < text.size() &&
         known(kBehind, anchor, text[at + 1], text[at + 2]);
}

bool LiteralPrefilter::may_occur(std::string_view text) const {
  constexpr std::size_t kBlock = sizeof(Bytes);
  Bytes first{}, second{}, third{};
  first += anchors_[0];
  second += anchors_[anchors_.size() > 1 ? 1 : 0];
  third += anchors_.back();
  const auto look = [&](const char* block, std::size_t at) {
    Bytes bytes;
    std::memcpy(&bytes, block, kBlock);
    bytes |= 0x20;
    const Bytes found =
        reinterpret_cast<Bytes>((bytes == first) | (bytes == second) | (bytes == third));
    std::uint64_t halves[2];
    std::memcpy(halves, &found, sizeof halves);
    if ((halves[0] | halves[1]) == 0) return false;
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::uint64_t bits = halves[half] & 0x0101010101010101u; bits != 0; bits &= bits - 1) {
        const std::size_t place =
            at + 8 * half + static_cast<std::size_t>(std::countr_zero(bits)) / 8;
        if (place < text.size() && stands_at(text, place)) return true;
      }
    }
    return false;
  };
  std::size_t at = 0;
  for (; at + kBlock <= text.size(); at += kBlock) {
    if (look(text.data() + at, at)) return true;
  }
  if (at == text.size()) return false;
  char rest[kBlock] = {};
  std::memcpy(rest, text.data() + at, text.size() - at);
  return look(rest, at);
}

}  // namespace logarithm
