#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logarithm::aggregator {

// A template's text as grouping sees it: words, and all that lies between them.
struct TemplateWords {
  // Text, slots and punctuation, with kWord for every word. Lists of slots ("[0, 1, 2]") are one,
  // however long: their length is a value too.
  std::string frame;
  std::vector<std::string_view> words;  // views of the text
};
inline constexpr char kWord = '\x02';  // never in a template's text: bodies have it masked

// Pure; linear in the size of `text`.
TemplateWords split_template(std::string_view text);

// The text with hexadecimal numbers as the slots that they are: digits are slots in a template, and
// of 29000 and db000 only the second has a letter left.
std::string fold_hexadecimal(std::string_view text);

// A word that is rather a name than language: a dotted or slashed path, or one with a number in it.
bool is_name(std::string_view word);

}  // namespace logarithm::aggregator
