#include "agent/follow/prefix_digest.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "common/io/crc32c.h"
#include "common/model/stream.h"

namespace logarithm::agent {
namespace {

// 128-bit product folded: every input bit reaches every output bit (as in wyhash).
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t step(std::uint64_t hash, std::uint64_t word) {
  return fold(hash ^ word, 0xA0761D6478BD642Full) + 0x9E3779B97F4A7C15ull;
}

void append_tail(std::string& tail, std::string_view bytes) {
  if (bytes.size() >= kTailBytes) {
    tail.assign(bytes.substr(bytes.size() - kTailBytes));
    return;
  }
  const std::size_t keep = std::min(tail.size(), kTailBytes - bytes.size());
  tail.erase(0, tail.size() - keep);
  tail.append(bytes);
}

}  // namespace

void PrefixDigest::add(std::string_view bytes) {
  append_tail(tail_, bytes);
  mix(bytes);
}

void PrefixDigest::mix(std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  while (left > 0 && offset_ % 8 != 0) {
    pending_ |= std::uint64_t{static_cast<unsigned char>(*at)} << (8 * (offset_ % 8));
    ++at, --left, ++offset_;
    if (offset_ % 8 == 0) {
      hash_ = step(hash_, pending_);
      pending_ = 0;
    }
  }
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash_ = step(hash_, word);
    at += 8, left -= 8, offset_ += 8;
  }
  while (left > 0) {
    pending_ |= std::uint64_t{static_cast<unsigned char>(*at)} << (8 * (offset_ % 8));
    ++at, --left, ++offset_;
  }
}

void PrefixDigest::add_zeros(std::uint64_t count) {
  static const std::string kZeros(64u << 10, '\0');
  // A hole of many GiB is not worth the time: the hash is given up, tails still compare.
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  if (count > kMost) {
    known_ = false;
    offset_ += count;
    pending_ = 0;
    tail_.assign(kTailBytes, '\0');
    return;
  }
  while (count > 0) {
    const std::size_t some =
        static_cast<std::size_t>(std::min<std::uint64_t>(count, kZeros.size()));
    add(std::string_view(kZeros).substr(0, some));
    count -= some;
  }
}

std::uint64_t PrefixDigest::value() const { return step(step(hash_, pending_), offset_); }

std::uint32_t PrefixDigest::tail_crc() const { return crc32c(tail_); }

std::string PrefixDigest::to_text() const {
  if (!known_) return {};
  return std::to_string(offset_) + "." + std::to_string(hash_) + "." + std::to_string(pending_);
}

PrefixDigest PrefixDigest::unknown(std::uint64_t offset, std::string tail) {
  PrefixDigest digest;
  digest.offset_ = offset;
  digest.known_ = offset == 0;
  digest.tail_ = std::move(tail);
  return digest;
}

PrefixDigest PrefixDigest::from_text(std::string_view text, std::uint64_t offset,
                                     std::string tail) {
  PrefixDigest digest = unknown(offset, std::move(tail));
  std::uint64_t parts[3] = {};
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::uint64_t& part : parts) {
    const auto [stop, problem] = std::from_chars(at, end, part);
    if (problem != std::errc{}) return digest;
    at = stop < end ? stop + 1 : stop;
  }
  if (parts[0] != offset) return digest;
  digest.hash_ = parts[1];
  digest.pending_ = parts[2];
  digest.known_ = true;
  return digest;
}

void HashLadder::add(const PrefixDigest& digest) {
  if (!digest.known()) return;
  if (!rungs_.empty() && rungs_.back().first >= digest.offset()) return;
  if (rungs_.size() == kCapacity) thin_out();
  rungs_.emplace_back(digest.offset(), digest.value());
}

// Of the older three quarters those go that stand at the least round numbers: what stays is spread
// over the whole file.
void HashLadder::thin_out() {
  const auto old = rungs_.begin() + kCapacity / 4 * 3;
  int least = 64;
  for (auto it = rungs_.begin(); it != old; ++it) {
    least = std::min(least, std::countr_zero(it->first));
  }
  const auto kept = std::remove_if(
      rungs_.begin(), old, [&](const auto& rung) { return std::countr_zero(rung.first) == least; });
  rungs_.erase(kept, old);
}

std::pair<std::uint64_t, std::uint64_t> HashLadder::below(std::uint64_t offset) const {
  const auto after =
      std::upper_bound(rungs_.begin(), rungs_.end(), offset,
                       [](std::uint64_t wanted, const auto& rung) { return wanted < rung.first; });
  if (after == rungs_.begin()) return {0, 0};
  return *(after - 1);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> HashLadder::newest(std::size_t count) const {
  const std::size_t from = rungs_.size() > count ? rungs_.size() - count : 0;
  return {rungs_.begin() + static_cast<std::ptrdiff_t>(from), rungs_.end()};
}

void HashLadder::restore(std::vector<std::pair<std::uint64_t, std::uint64_t>> rungs) {
  rungs_ = std::move(rungs);
  std::sort(rungs_.begin(), rungs_.end());
  if (rungs_.size() > kCapacity) rungs_.resize(kCapacity);
}

void add_with_rungs(PrefixDigest& digest, HashLadder& ladder, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t to_rung = HashLadder::kStep - digest.offset() % HashLadder::kStep;
    const std::size_t some =
        static_cast<std::size_t>(std::min<std::uint64_t>(to_rung, bytes.size()));
    digest.add(bytes.substr(0, some));
    bytes.remove_prefix(some);
    if (digest.offset() % HashLadder::kStep == 0) ladder.add(digest);
  }
}

}  // namespace logarithm::agent
