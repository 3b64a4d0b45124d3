#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// Splits text into the tokens that the filter knows (tokenizer version 1, common/block/README.md):
// maximal runs of letters, digits, '_' and bytes >= 0x80; ASCII case kept. Calls sink(token).
template <typename Sink>
void for_each_token(std::string_view text, Sink&& sink) {
  auto is_word = [](unsigned char c) {
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  std::size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && !is_word(static_cast<unsigned char>(text[i]))) ++i;
    std::size_t begin = i;
    while (i < text.size() && is_word(static_cast<unsigned char>(text[i]))) ++i;
    if (i > begin) sink(text.substr(begin, i - begin));
  }
}

std::uint64_t token_hash(std::string_view token);

// Split-block Bloom filter over token hashes, about 1 % false positives; empty when there are no
// tokens.
std::string make_token_filter(const std::vector<std::uint64_t>& hashes);

// False only when no added token has this hash. A filter that cannot be read contains everything.
bool filter_may_contain(std::string_view filter, std::uint64_t hash);

}  // namespace logarithm
