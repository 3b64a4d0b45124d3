#include "common/line/ansi.h"

#include <algorithm>

namespace logarithm {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kMaxSequence = 4096;  // an OSC longer than this is text, not a title

bool between(char c, char low, char high) { return c >= low && c <= high; }

// Length of the sequence that begins at `at` (an escape byte); 0 when it is none.
std::size_t sequence_length(std::string_view raw, std::size_t at) {
  if (at + 1 >= raw.size()) return 0;
  std::size_t i = at + 2;
  switch (raw[at + 1]) {
    case '[':
      while (i < raw.size() && between(raw[i], 0x30, 0x3f)) ++i;
      while (i < raw.size() && between(raw[i], 0x20, 0x2f)) ++i;
      return i < raw.size() && between(raw[i], 0x40, 0x7e) ? i + 1 - at : 0;
    case ']': {
      const std::size_t stop = std::min(raw.size(), at + kMaxSequence);
      for (; i < stop; ++i) {
        if (raw[i] == '\a') return i + 1 - at;
        if (raw[i] == kEscape) return i + 1 < stop && raw[i + 1] == '\\' ? i + 2 - at : 0;
      }
      return 0;
    }
    case '(':
    case ')':
    case '#': return i < raw.size() && raw[i] > ' ' ? 3 : 0;
    default: break;
  }
  // ESC 7, ESC =, ESC M and the like.
  return between(raw[at + 1], 0x30, 0x7e) ? 2 : 0;
}

// Calls keep(begin, end) for every stretch of `raw` that stays.
template <typename Keep>
void for_kept(std::string_view raw, Keep keep) {
  std::size_t begin = 0;
  std::size_t at = raw.find(kEscape);
  while (at != std::string_view::npos) {
    const std::size_t length = sequence_length(raw, at);
    if (length == 0) {
      at = raw.find(kEscape, at + 1);
      continue;
    }
    keep(begin, at);
    begin = at + length;
    at = raw.find(kEscape, begin);
  }
  keep(begin, raw.size());
}

}  // namespace

bool has_escape(std::string_view raw) { return raw.find(kEscape) != std::string_view::npos; }

std::string strip_ansi(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for_kept(raw, [&](std::size_t begin, std::size_t end) { out.append(raw, begin, end - begin); });
  return out;
}

StrippedText::StrippedText(std::string_view raw) : raw_size_(raw.size()) {
  text_.reserve(raw.size());
  for_kept(raw, [&](std::size_t begin, std::size_t end) {
    cuts_.push_back({text_.size(), begin - text_.size()});
    text_.append(raw, begin, end - begin);
  });
}

std::size_t StrippedText::to_raw(std::size_t position) const {
  if (position >= text_.size()) return raw_size_;
  const auto after =
      std::upper_bound(cuts_.begin(), cuts_.end(), position,
                       [](std::size_t value, const Cut& cut) { return value < cut.at; });
  return position + std::prev(after)->removed;
}

}  // namespace logarithm
