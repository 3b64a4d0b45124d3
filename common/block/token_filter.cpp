#include "common/block/token_filter.h"

#include <algorithm>
#include <array>

#include "common/io/byte_codec.h"

namespace logarithm {
namespace {

constexpr std::size_t kBitsPerTwoTokens = 21;  // measured: 1.0 % false positives
constexpr std::size_t kGroupBytes = 32;
constexpr std::size_t kWords = 8;
// Odd constants that spread the low half of a hash over the eight words of a group (the ones of
// Parquet's split-block filter).
constexpr std::array<std::uint32_t, kWords> kSalts = {0x47B6137Bu, 0x44974D91u, 0x8824AD5Bu,
                                                      0xA2B7289Du, 0x705495C7u, 0x2DF1424Bu,
                                                      0x9EFC4947u, 0x5C6BFB31u};

__extension__ using Wide = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t load(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

std::size_t group_of(std::uint64_t hash, std::size_t groups) {
  return static_cast<std::size_t>(((hash >> 32) * groups) >> 32);
}

std::uint32_t bit_of(std::uint64_t hash, std::size_t word) {
  return 1u << ((static_cast<std::uint32_t>(hash) * kSalts[word]) >> 27);
}

// Words that display repairs are not the stored bytes.
bool holds_replacement(std::string_view token) {
  return token.find("\xEF\xBF\xBD") != std::string_view::npos;
}

}  // namespace

std::uint64_t token_hash(std::string_view token) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull ^ token.size();
  for (; token.size() >= 8; token.remove_prefix(8)) {
    hash = mix(hash ^ load(token.substr(0, 8)), 0xA0761D6478BD642Full) + 0x2545F4914F6CDD1Dull;
  }
  hash = mix(hash ^ load(token), 0xE7037ED1A0B428DBull) + 0x2545F4914F6CDD1Dull;
  return mix(hash, 0x8EBC6AF09C88C6E3ull);
}

std::string make_token_filter(const std::vector<std::uint64_t>& hashes) {
  if (hashes.empty()) return {};
  const std::size_t groups =
      (hashes.size() * kBitsPerTwoTokens + kGroupBytes * 16 - 1) / (kGroupBytes * 16);
  std::vector<std::uint32_t> words(groups * kWords);
  for (const std::uint64_t hash : hashes) {
    const std::size_t base = group_of(hash, groups) * kWords;
    for (std::size_t i = 0; i < kWords; ++i) words[base + i] |= bit_of(hash, i);
  }
  std::string out;
  out.reserve(1 + groups * kGroupBytes);
  ByteWriter writer(out);
  writer.u8(block_format::kTokenizerVersion);
  for (const std::uint32_t word : words) writer.u32(word);
  return out;
}

bool filter_may_contain(std::string_view filter, std::uint64_t hash) {
  if (filter.empty()) return false;
  const bool readable = static_cast<std::uint8_t>(filter[0]) == block_format::kTokenizerVersion &&
                        filter.size() > 1 && (filter.size() - 1) % kGroupBytes == 0;
  if (!readable) return true;
  const std::size_t groups = (filter.size() - 1) / kGroupBytes;
  ByteReader group(filter.substr(1 + group_of(hash, groups) * kGroupBytes, kGroupBytes));
  for (std::size_t i = 0; i < kWords; ++i) {
    if ((group.u32() & bit_of(hash, i)) == 0) return false;
  }
  return true;
}

std::vector<std::string> provable_tokens(std::string_view literal) {
  std::vector<std::string> out;
  for_each_token(literal, [&out, literal](std::string_view token) {
    const bool open_left = token.data() == literal.data();
    const bool open_right = token.data() + token.size() == literal.data() + literal.size();
    if (!open_left && !open_right && !holds_replacement(token)) out.emplace_back(token);
  });
  return out;
}

bool may_contain_literal(const BlockHeader& header, std::string_view literal,
                         const std::function<bool(std::string_view)>& in_templates) {
  if ((header.flags_any & line_flag::progress) != 0) return true;
  for (const std::string& token : provable_tokens(literal)) {
    if (!filter_may_contain(header.filter, token_hash(token)) && !in_templates(token)) return false;
  }
  return true;
}

}  // namespace logarithm
