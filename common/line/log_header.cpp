#include "common/line/log_header.h"

#include <array>

namespace logarithm {
namespace {

constexpr std::size_t kMaxHeader = 512;  // a header that is longer than this is text

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_file_char(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c) || is_digit(c) ||
         std::string_view("_./+-<>$").find(c) != std::string_view::npos;
}

// The words that loggers print; "I" and the like only count where a format has a letter.
bool is_level_word(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kWords{"DEBUG",  "INFO",     "WARNING", "WARN",
                                                           "ERROR",  "CRITICAL", "FATAL",   "TRACE",
                                                           "NOTICE", "SUCCESS",  "VERBOSE"};
  for (auto known : kWords) {
    if (word == known) return true;
  }
  return false;
}

// A cursor over the text, with a header that fills up. A step that fails leaves the cursor where
// it was; a shape that fails leaves a header that is thrown away.
struct Lexer {
  explicit Lexer(std::string_view text) : s(text.substr(0, kMaxHeader)) {}

  std::string_view s;
  std::size_t at = 0;
  LogHeader header;

  char peek(std::size_t ahead = 0) const { return at + ahead < s.size() ? s[at + ahead] : '\0'; }

  bool take(std::string_view what) {
    if (!s.substr(at).starts_with(what)) return false;
    at += what.size();
    return true;
  }
  bool blanks() {
    const std::size_t before = at;
    while (peek() == ' ') ++at;
    return at > before;
  }
  void optional_blank() {
    if (peek() == ' ') ++at;
  }
  bool digits() {
    const std::size_t before = at;
    while (is_digit(peek())) ++at;
    return at > before;
  }

  bool iso() {
    PrintedTime time;
    if (!read_iso(s, at, time)) return false;
    header.time = time;
    return true;
  }

  void set_level(std::string_view word) {
    header.level = word;
    header.severity = parse_severity(word).value_or(Severity::unset);
  }
  bool level_word() {
    std::size_t end = at;
    while (end < s.size() && is_upper(s[end])) ++end;
    const auto word = s.substr(at, end - at);
    if (!is_level_word(word)) return false;
    set_level(word);
    at = end;
    return true;
  }
  bool level_letter(std::string_view letters) {
    if (at >= s.size() || letters.find(s[at]) == std::string_view::npos) return false;
    set_level(s.substr(at, 1));
    ++at;
    return true;
  }

  // `file:line`; with `dotted` the file needs a '.', so that "step:12 " is no call site.
  bool callsite(bool dotted) {
    std::size_t end = at;
    while (end < s.size() && is_file_char(s[end])) ++end;
    const auto file = s.substr(at, end - at);
    if (file.empty() || end >= s.size() || s[end] != ':') return false;
    if (dotted && file.find('.') == std::string_view::npos) return false;
    std::size_t line = end + 1;
    while (line < s.size() && is_digit(s[line])) ++line;
    if (line == end + 1 || line > end + 9) return false;
    header.file = file;
    header.file_line = s.substr(end + 1, line - end - 1);
    at = line;
    return true;
  }

  bool no_year_date_clock(bool one_digit_month) {
    PrintedTime time;
    std::size_t i = at, run = 0;
    while (i + run < s.size() && is_digit(s[i + run])) ++run;
    if (run == 8) {
      unsigned year = 0;
      read_digits(s, i, 4, year);
      time.year = static_cast<int>(year);
    } else if (run != 4 && !(one_digit_month && run == 3)) {
      return false;
    }
    read_digits(s, i, run == 3 ? 1 : 2, time.month);
    read_digits(s, i, 2, time.day);
    if (i >= s.size() || s[i] != ' ' || !read_clock(s, ++i, time)) return false;
    header.time = time;
    at = i;
    return true;
  }
};

// I0304 05:06:07.448120 48213 trainer.cc:211] text          I20260304 …
bool glog(Lexer& x) {
  return x.level_letter("IWEFVD") && x.no_year_date_clock(false) && x.blanks() && x.digits() &&
         x.blanks() && x.callsite(false) && x.take("]") && (x.optional_blank(), true);
}

// [W304 05:06:07.448120903 TCPStore.cpp:115] text           [E ProcessGroupNCCL.cpp:458] text
bool c10(Lexer& x) {
  if (!x.take("[") || !x.level_letter("IWEFD")) return false;
  if (x.peek() != ' ' && !x.no_year_date_clock(true)) return false;
  return x.take(" ") && x.callsite(true) && x.take("] ");
}

// [NeMo W 2026-03-04 05:06:07 nemo_logging:361 rank:3] text
bool nemo(Lexer& x) {
  if (!x.take("[NeMo ") || !x.level_letter("DIWEC") || !x.take(" ") || !x.iso() || !x.take(" ") ||
      !x.callsite(false)) {
    return false;
  }
  if (x.take(" rank:") && !x.digits()) return false;
  return x.take("]") && (x.optional_blank(), true);
}

// [INFO|trainer.py:2314] 2026-03-04 05:06:07,448 >> text
bool transformers(Lexer& x) {
  return x.take("[") && x.level_word() && x.take("|") && x.callsite(true) && x.take("] ") &&
         x.iso() && x.take(" >> ");
}

// [2026-03-04 05:06:07,448] [INFO] [logging.py:107:log_dist] text
// [2026-03-04 05:06:07,448] torch.distributed.run: [WARNING] text
// [2026-03-04 05:06:07] text
bool bracketed_time(Lexer& x) {
  if (x.peek() == ' ' && x.peek(1) == '[') ++x.at;  // Megatron prints a blank in front
  if (!x.take("[") || !x.iso() || !x.take("]")) return false;
  x.optional_blank();
  const std::size_t after_time = x.at;
  if (x.take("[") && x.level_word() && x.take("]")) {
    x.optional_blank();
    const std::size_t after_level = x.at;
    if (x.take("[") && x.callsite(true)) {
      while (x.at < x.s.size() && x.peek() != ']' && x.peek() != ' ') ++x.at;
      if (x.take("]")) return x.optional_blank(), true;
      x.header.file = x.header.file_line = {};
    }
    x.at = after_level;
    return true;
  }
  x.at = after_time;
  std::size_t colon = x.s.find(": [", x.at);
  if (colon != std::string_view::npos &&
      x.s.substr(x.at, colon - x.at).find_first_of("()\"'=") == std::string_view::npos) {
    x.at = colon + 3;
    if (x.level_word() && x.take("]")) return x.optional_blank(), true;
  }
  x.at = after_time;
  return true;
}

// What follows `time - `: "logger - LEVEL - " or "LEVEL - ".
bool dashed(Lexer& x) {
  if (x.level_word()) return x.take(" - ");
  const std::size_t dash = x.s.find(" - ", x.at);
  if (dash == std::string_view::npos) return false;
  if (x.s.substr(x.at, dash - x.at).find(' ') != std::string_view::npos) return false;
  x.at = dash + 3;
  return x.level_word() && x.take(" - ");
}

// What follows `time | `: "LEVEL    | module:function:88 - ".
bool loguru(Lexer& x) {
  if (!x.level_word()) return false;
  x.blanks();
  if (!x.take("| ")) return false;
  const std::size_t begin = x.at;
  const std::size_t dash = x.s.find(" - ", begin);
  if (dash == std::string_view::npos) return false;
  const auto place = x.s.substr(begin, dash - begin);
  const std::size_t module = place.find(':'), line = place.rfind(':');
  if (module == std::string_view::npos || line == module ||
      place.find(' ') != std::string_view::npos) {
    return false;
  }
  const auto digits = place.substr(line + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return false;
  }
  x.header.file = place.substr(0, module);
  x.header.file_line = digits;
  x.at = dash + 3;
  return true;
}

// What follows `time `: "LEVEL train.py:88] ", "LEVEL train.py:88 ", "[LEVEL] ", "LEVEL: ", "LEVEL
// ".
bool spaced(Lexer& x) {
  const bool bracket = x.take("[");
  if (!x.level_word()) return false;
  if (bracket && !x.take("]")) return false;
  if (x.take(":")) return x.optional_blank(), true;
  if (!x.blanks()) return x.at == x.s.size();
  const std::size_t after_level = x.at;
  const bool in_brackets = x.take("[");
  if (x.callsite(true)) {
    if (in_brackets ? x.take("]") : x.take("]") || x.take(":") || x.peek() == ' ') {
      return x.optional_blank(), true;
    }
    x.header.file = x.header.file_line = {};
  }
  x.at = after_level;
  return true;
}

// 2026-03-04 05:06:07,448 and what loggers write after it.
bool leading_time(Lexer& x) {
  if (!x.iso()) return false;
  const std::size_t after_time = x.at;
  auto attempt = [&](std::string_view separator, bool (*shape)(Lexer&)) {
    const LogHeader saved = x.header;
    x.at = after_time;
    if (x.take(separator) && shape(x)) return true;
    x.header = saved;
    x.at = after_time;
    return false;
  };
  if (attempt(" - ", dashed) || attempt(" | ", loguru)) return true;
  auto tensorflow = [](Lexer& y) {
    return y.level_letter("IWEF") && y.take(" ") && y.callsite(false) && y.take("] ");
  };
  if (attempt(": ", tensorflow) || attempt(" ", spaced)) return true;
  // A time and nothing else is a header when a blank or a colon sets it off.
  if (x.at == x.s.size()) return true;
  if (x.take(":")) return x.take(" ");
  return x.take(" ");
}

// [titan] 2026-03-04 05:06:07,448 - root - INFO - text
bool named_time(Lexer& x) {
  if (!x.take("[")) return false;
  const std::size_t begin = x.at;
  while (x.at < x.s.size() && is_file_char(x.s[x.at])) ++x.at;
  return x.at > begin && x.take("] ") && leading_time(x) && x.header.severity != Severity::unset;
}

// ERROR:root:text      WARNING: text      INFO 03-04 05:06:07 [core.py:708] text
bool leading_level(Lexer& x) {
  if (!x.level_word()) return false;
  if (x.take(": ")) return true;
  if (x.take(":")) {
    const std::size_t begin = x.at;
    while (x.at < x.s.size() && is_file_char(x.s[x.at])) ++x.at;
    return x.at > begin && x.take(":");
  }
  PrintedTime time;
  if (!x.take(" ") || !read_digits(x.s, x.at, 2, time.month) || !x.take("-") ||
      !read_digits(x.s, x.at, 2, time.day) || !x.take(" ") || !read_clock(x.s, x.at, time)) {
    return false;
  }
  x.header.time = time;
  return x.take(" [") && x.callsite(true) && x.take("] ");
}

}  // namespace

std::optional<LogHeader> parse_header(std::string_view text) {
  if (text.size() < 3) return std::nullopt;
  auto accept = [&](bool (*shape)(Lexer&)) -> std::optional<LogHeader> {
    Lexer x(text);
    if (!shape(x)) return std::nullopt;
    if (x.header.time && !is_date(*x.header.time)) return std::nullopt;
    x.header.size = x.at;
    return x.header;
  };
  const char first = text[0];
  if (is_digit(first)) return accept(leading_time);
  if (first == '[' || first == ' ') {
    if (first == ' ' && text[1] != '[') return std::nullopt;
    const char second = first == ' ' ? text[2] : text[1];
    if (is_digit(second)) return accept(bracketed_time);
    if (first == ' ') return std::nullopt;
    if (auto header = accept(c10)) return header;
    if (auto header = accept(nemo)) return header;
    if (auto header = accept(transformers)) return header;
    return accept(named_time);
  }
  if (!is_upper(first)) return std::nullopt;
  if (is_digit(text[1])) return accept(glog);
  return accept(leading_level);
}

std::optional<RankPrefix> parse_rank_prefix(std::string_view text) {
  constexpr std::string_view kOpen = "[rank";
  if (!text.starts_with(kOpen)) return std::nullopt;
  RankPrefix prefix;
  std::size_t i = kOpen.size();
  for (; i < text.size() && is_digit(text[i]) && i < kOpen.size() + 8; ++i) {
    prefix.rank = prefix.rank * 10 + (text[i] - '0');
  }
  if (i == kOpen.size() || text.substr(i, 2) != "]:") return std::nullopt;
  i += 2;
  if (i < text.size() && text[i] == ' ') ++i;
  prefix.size = i;
  return prefix;
}

}  // namespace logarithm
