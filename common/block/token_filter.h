#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/block/block_header.h"

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

// Split-block Bloom filter over token hashes (distinct, else it is larger than it need be), about
// 1 % false positives; empty when there are no tokens.
std::string make_token_filter(const std::vector<std::uint64_t>& hashes);

// False only when no added token has this hash. A filter that cannot be read contains everything.
bool filter_may_contain(std::string_view filter, std::uint64_t hash);

// What a block's filter holds: for every line that is not flagged `progress`, each token of its
// `text` that does not lie wholly in one literal piece of one stored template (it overlaps a
// variable, crosses from header to body, or lies in plain text). So a token of a text is in the
// filter or inside a template text of the block; progress lines prove nothing.

// The tokens of `literal` that must be whole tokens of any text that contains it: those with a
// separator on both sides inside the literal, and without U+FFFD (which stands for other bytes).
// Case-sensitive: a match that ignores case proves nothing.
std::vector<std::string> provable_tokens(std::string_view literal);

// False only when no line's `text` of the block can contain `literal` (bytes, case-sensitive).
// `in_templates(token)`: whether a text among header.stored_templates, *of any kind*, contains the
// token; it must be true where that is not known.
bool may_contain_literal(const BlockHeader& header, std::string_view literal,
                         const std::function<bool(std::string_view)>& in_templates);

}  // namespace logarithm
