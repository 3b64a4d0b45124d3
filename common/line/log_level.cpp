#include "common/line/log_level.h"

#include <cstdint>

#include "common/line/header_chars.h"

namespace logarithm {
namespace {

using header::is_lower;
using header::is_upper;
using header::packed;

LogLevel find(std::uint64_t upper_case) {
  switch (upper_case) {
    case packed("ERR"): return {Severity::error, true, true};
    case packed("INF"): return {Severity::info, true, false};
    case packed("WRN"): return {Severity::warning, true, true};
    case packed("DBG"): return {Severity::debug, true, true};
    case packed("FTL"): return {Severity::fatal, true, true};
    case packed("TRC"): return {Severity::trace, true, true};
    case packed("PNC"): return {Severity::fatal, true, true};
    case packed("LOG"): return {Severity::info, true, false};
    case packed("CRT"): return {Severity::fatal, true, true};
    case packed("INFO"): return {Severity::info, true, true};
    case packed("WARN"): return {Severity::warning, true, true};
    case packed("CRIT"): return {Severity::fatal, true, true};
    case packed("DBUG"): return {Severity::debug, true, true};
    case packed("EROR"): return {Severity::error, true, true};
    case packed("FINE"): return {Severity::debug, true, false};
    case packed("NOTE"): return {Severity::info, true, false};
    case packed("DEBUG"): return {Severity::debug, true, true};
    case packed("ERROR"): return {Severity::error, true, true};
    case packed("FATAL"): return {Severity::fatal, true, true};
    case packed("TRACE"): return {Severity::trace, true, true};
    case packed("ALERT"): return {Severity::fatal, true, false};
    case packed("EMERG"): return {Severity::fatal, true, true};
    case packed("PANIC"): return {Severity::fatal, true, false};
    case packed("FINER"): return {Severity::trace, true, false};
    case packed("NOTICE"): return {Severity::info, true, false};
    case packed("SEVERE"): return {Severity::error, true, true};
    case packed("FINEST"): return {Severity::trace, true, false};
    case packed("CONFIG"): return {Severity::debug, true, false};
    case packed("DPANIC"): return {Severity::fatal, true, true};
    case packed("WARNING"): return {Severity::warning, true, true};
    case packed("SUCCESS"): return {Severity::info, true, false};
    case packed("VERBOSE"): return {Severity::debug, true, false};
    case packed("CRITICAL"): return {Severity::fatal, true, true};
    default: return {};
  }
}

}  // namespace

std::optional<LogLevel> level_word(std::string_view word) {
  if (word.size() < 3 || word.size() > 9) return std::nullopt;
  // debug2 … debug5 (Slurm), DEBUG1 (PostgreSQL)
  if (word.size() == 6 && (word[0] == 'd' || word[0] == 'D') && word[5] >= '0' && word[5] <= '9') {
    word.remove_suffix(1);
  }
  // EMERGENCY is one letter too long for the number, and the only one.
  const bool long_one = word.size() == 9;
  if (long_one && word[8] != 'Y' && word[8] != 'y') return std::nullopt;
  std::uint64_t upper = 0;
  std::size_t small = 0;
  for (char c : word.substr(0, 8)) {
    if (is_lower(c)) {
      c = static_cast<char>(c - ('a' - 'A'));
      ++small;
    } else if (!is_upper(c)) {
      return std::nullopt;
    }
    upper = upper << 8 | static_cast<unsigned char>(c);
  }
  LogLevel found = find(upper);
  if (long_one) {
    if (upper != packed("EMERGENC")) return std::nullopt;
    found = {Severity::fatal, true, false};
    small += is_lower(word[8]) ? 1u : 0u;
  }
  const bool one_case =
      small == 0 || small == word.size() || (small == word.size() - 1 && is_upper(word[0]));
  if (found.severity == Severity::unset || !one_case) return std::nullopt;
  found.upper = small == 0;
  return found;
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
