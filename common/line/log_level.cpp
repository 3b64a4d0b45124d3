#include "common/line/log_level.h"

#include <array>

namespace logarithm {
namespace {

struct Word {
  std::string_view name;
  Severity severity;
  bool plain = true;
};

constexpr std::array kThree{Word{"ERR", Severity::error},   Word{"INF", Severity::info, false},
                            Word{"WRN", Severity::warning}, Word{"DBG", Severity::debug},
                            Word{"FTL", Severity::fatal},   Word{"TRC", Severity::trace},
                            Word{"PNC", Severity::fatal},   Word{"LOG", Severity::info, false},
                            Word{"CRT", Severity::fatal}};
constexpr std::array kFour{Word{"INFO", Severity::info},       Word{"WARN", Severity::warning},
                           Word{"CRIT", Severity::fatal},      Word{"DBUG", Severity::debug},
                           Word{"EROR", Severity::error},      Word{"FINE", Severity::debug, false},
                           Word{"NOTE", Severity::info, false}};
constexpr std::array kFive{
    Word{"DEBUG", Severity::debug},        Word{"ERROR", Severity::error},
    Word{"FATAL", Severity::fatal},        Word{"TRACE", Severity::trace},
    Word{"ALERT", Severity::fatal, false}, Word{"EMERG", Severity::fatal},
    Word{"PANIC", Severity::fatal, false}, Word{"FINER", Severity::trace, false}};
constexpr std::array kSix{Word{"NOTICE", Severity::info, false},
                          Word{"SEVERE", Severity::error, false},
                          Word{"FINEST", Severity::trace, false},
                          Word{"CONFIG", Severity::debug, false}, Word{"DPANIC", Severity::fatal}};
constexpr std::array kSeven{Word{"WARNING", Severity::warning},
                            Word{"SUCCESS", Severity::info, false},
                            Word{"VERBOSE", Severity::debug, false}};
constexpr std::array kMore{Word{"CRITICAL", Severity::fatal},
                           Word{"EMERGENCY", Severity::fatal, false}};

template <std::size_t N>
const Word* find(const std::array<Word, N>& words, std::string_view key) {
  for (const Word& word : words) {
    if (word.name == key) return &word;
  }
  return nullptr;
}

const Word* find(std::string_view key) {
  switch (key.size()) {
    case 3: return find(kThree, key);
    case 4: return find(kFour, key);
    case 5: return find(kFive, key);
    case 6: return find(kSix, key);
    case 7: return find(kSeven, key);
    default: return find(kMore, key);
  }
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

std::optional<LogLevel> level_word(std::string_view word) {
  if (word.size() < 3 || word.size() > 9) return std::nullopt;
  char upper[9];
  std::size_t small = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (is_lower(word[i])) {
      upper[i] = static_cast<char>(word[i] - ('a' - 'A'));
      ++small;
    } else if (is_upper(word[i])) {
      upper[i] = word[i];
    } else {
      return std::nullopt;
    }
  }
  const bool one_case =
      small == 0 || small == word.size() || (small == word.size() - 1 && is_upper(word[0]));
  const Word* found = one_case ? find(std::string_view(upper, word.size())) : nullptr;
  if (!found) return std::nullopt;
  return LogLevel{found->severity, small == 0, found->plain};
}

std::optional<Severity> level_letter(char letter) {
  switch (letter) {
    case 'I': return Severity::info;
    case 'W': return Severity::warning;
    case 'E': return Severity::error;
    case 'F':
    case 'C': return Severity::fatal;
    case 'D':
    case 'V': return Severity::debug;
    case 'T': return Severity::trace;
    default: return std::nullopt;
  }
}

}  // namespace logarithm
