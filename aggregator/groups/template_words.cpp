#include "aggregator/groups/template_words.h"

#include <algorithm>

#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
// May lie inside of a word, between two letters or slots.
bool is_joint(char c) { return c == '.' || c == '-' || c == '/'; }

// End of the word that begins at `at`, or `at` when none does: letters, with slots and joints
// inside ("layers.<*>.attn", "host<*>"). Slots alone are no word.
std::size_t word_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  bool letters = false;
  while (end < text.size()) {
    const char c = text[end];
    if (is_letter(c)) {
      letters = true;
    } else if (c != kSlot) {
      const bool inside = is_joint(c) && end > at && end + 1 < text.size() &&
                          (is_letter(text[end + 1]) || text[end + 1] == kSlot);
      if (!inside) break;
    }
    ++end;
  }
  return letters ? end : at;
}

// Slots with letters from a to f between them, and nothing else.
bool is_hexadecimal(std::string_view word) {
  const auto is_part = [](char c) {
    return c == kSlot || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  return word.find(kSlot) != std::string_view::npos &&
         std::all_of(word.begin(), word.end(), is_part);
}

// Takes "<*>, <*>, <*>" back to "<*>, <*>": the same separator twice in a row makes a list.
void fold_list(std::string& frame) {
  const std::size_t last = frame.size() - 1;
  const std::size_t before = frame.rfind(kSlot, last - 1);
  if (last == 0 || before == std::string::npos || before == 0) return;
  const std::size_t first = frame.rfind(kSlot, before - 1);
  if (first == std::string::npos) return;
  const std::string_view all = frame;
  const std::string_view a = all.substr(first + 1, before - first - 1);
  const std::string_view b = all.substr(before + 1, last - before - 1);
  if (a == b && !a.empty() && a.find(kWord) == std::string_view::npos) frame.resize(before + 1);
}

}  // namespace

std::string fold_hexadecimal(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(text, at);
    if (end == at) {
      out.push_back(text[at++]);
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    // The first word says what happened.
    if (at > 0 && is_hexadecimal(word)) {
      out.push_back(kSlot);
    } else {
      out.append(word);
    }
    at = end;
  }
  return out;
}

TemplateWords split_template(std::string_view text) {
  TemplateWords out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(text, at);
    if (end > at) {
      out.words.push_back(text.substr(at, end - at));
      out.frame.push_back(kWord);
      at = end;
      continue;
    }
    // Numbers are padded with blanks: how many says nothing.
    const bool more_blanks = text[at] == ' ' && out.frame.ends_with(' ');
    if (!more_blanks) out.frame.push_back(text[at]);
    if (text[at] == kSlot) fold_list(out.frame);
    ++at;
  }
  return out;
}

bool is_name(std::string_view word) {
  for (const char c : word) {
    if (c == kSlot || c == '.' || c == '/') return true;
  }
  return false;
}

}  // namespace logarithm::aggregator
