#include "common/line/log_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "common/line/header_lexer.h"
#include "common/line/header_steps.h"
#include "common/line/header_structured.h"
#include "common/line/log_level.h"

namespace logarithm {
namespace header {

void mention_rank(std::string_view text, LogHeader& header) {
  const auto message = text.substr(header.size);
  if (!message.starts_with("[Rank ") && !message.starts_with("[rank ")) return;
  std::size_t end = 6;
  if (end < message.size() && message[end] == '-') ++end;
  while (end < message.size() && is_digit(message[end])) ++end;
  if (end >= message.size() || message[end] != ']' || !is_digit(message[end - 1])) return;
  for (std::size_t i = 0; i < header.field_count; ++i) {
    if (header.fields[i].key == "rank") return;
  }
  header.add("rank", message.substr(6, end - 6), true);
}

namespace {

// `>>> `, `* `, `| ` in front of a digit or a bracket with one.
bool has_bullet(std::string_view text) {
  std::size_t i = 1;
  while (i < 4 && i < text.size() && text[i] == text[0]) ++i;
  if (i >= text.size() || text[i] != ' ') return false;
  ++i;
  if (i < text.size() && text[i] == '[') ++i;
  return i < text.size() && is_digit(text[i]);
}

// A month or a day of the week, written out.
bool is_month_or_day(std::string_view word) {
  if (word.ends_with("day")) return true;
  switch (packed(word.substr(0, 3))) {
    case packed("Jan"):
    case packed("Feb"):
    case packed("Mar"):
    case packed("Apr"):
    case packed("Jun"):
    case packed("Jul"):
    case packed("Aug"):
    case packed("Sep"):
    case packed("Oct"):
    case packed("Nov"):
    case packed("Dec"): return true;
    default: return false;
  }
}

}  // namespace

bool may_have_header(std::string_view text) {
  if (text.size() < 3) return false;
  const char c = text[0];
  if (!is_letter(c) && c != '_') {
    if (c == ' ' && is_upper(text[1])) return is_upper(text[2]);
    if (c == ' ') return text[1] == '[' || (text[1] == ' ' && (text[2] == '[' || text[2] == ' '));
    if (c == ':') return is_digit(text[1]) && text[2] == ':';
    if (c == '>' || c == '*' || c == '|' || c == '-' || c == '#') return has_bullet(text);
    return is_digit(c) || c == '[' || c == '{' || c == '(' || c == '/' || c == '.' || c == '<';
  }
  std::size_t end = 0;
  while (end < text.size() && end < 160 && !ends_token(text[end])) ++end;
  const auto token = text.substr(0, end);
  if (token.find(':') != std::string_view::npos) return true;
  const char next = end < text.size() ? text[end] : '\0';
  if (next == '=') return end <= 12;
  // trainer-0 2026-03-04 05:06:07 text
  if (next == ' ' && end + 6 < text.size() && is_digit(text[end - 1]) && is_digit(text[end + 1]) &&
      (text[end + 5] == '-' || text[end + 5] == '/')) {
    return true;
  }
  if (next == '[' && end + 1 < text.size() && is_digit(text[end + 1])) return true;
  if (is_upper(text[0])) {
    if (end > 1 && is_digit(text[1])) return true;  // glog
    if (end == 3 || (end == 1 && next == ',')) return true;
    if (const auto level = level_word(token)) return level->upper;
    if (end == 4 && next == ',') return true;  // Wed, 04 Mar 2026
    // LAUNCH ERROR 2026-03-04 05:06:07 text
    if (next == ' ' && end + 6 < text.size() && is_upper(text[end - 1]) &&
        is_upper(text[end + 1]) && is_upper(text[end + 2])) {
      return true;
    }
    // March 4, 2026 05:06:07; Wednesday, …
    if (next == ' ' || next == ',') {
      const std::size_t digit = end + (next == ',' ? 2 : 1);
      if (digit < text.size() && end <= 9 && (is_digit(text[digit]) || next == ',') &&
          is_month_or_day(token)) {
        return true;
      }
    }
  }
  if (token == "thread") return true;
  // trainer - INFO - text
  return next == ' ' && end + 2 < text.size() && (text[end + 1] == '-' || text[end + 1] == '|') &&
         text[end + 2] == ' ';
}

namespace {

bool lex(std::string_view text, LogHeader& header, HeaderLexer::Trace& trace) {
  HeaderLexer lexer(text, header);
  const bool found = lexer.read();
  trace = lexer.trace();
  return found;
}

bool read_letters(std::string_view text, LogHeader& header, HeaderLexer::Trace& trace) {
  const std::size_t equals = text.substr(0, 13).find('=');
  if (equals != std::string_view::npos) return parse_logfmt(text, header);
  if (lex(text, header, trace)) return true;
  header = LogHeader();
  if (parse_diagnostic(text, header)) return true;
  header = LogHeader();
  return (text[0] | 0x20) == 'l' && parse_program(text, header);
}

}  // namespace

bool read_header(std::string_view text, LogHeader& header, HeaderLexer::Trace& trace) {
  const char c = text[0];
  switch (c) {
    case '{': return parse_json(text, header);
    case '/':
    case '.':
    case '<': return parse_diagnostic(text, header);
    case '[':
      if (lex(text, header, trace)) return true;
      header = LogHeader();
      if (parse_mpi(text, header)) return true;
      header = LogHeader();
      return parse_program(text, header);
    case ':': return parse_program(text, header);
    case '(':
    case '>':
    case '*':
    case '|':
    case '-':
    case '#':
    case ' ': return lex(text, header, trace);
    default: break;
  }
  if (is_digit(c)) {
    if (lex(text, header, trace)) return true;
    header = LogHeader();
    return parse_program(text, header);
  }
  return read_letters(text, header, trace);
}

}  // namespace header

void LogHeader::add(std::string_view key, std::string_view value, bool integer) {
  if (field_count >= kMaxFields || value.empty()) return;
  fields[field_count++] = {key, value, integer ? Kind::integer : Kind::text};
}

void LogHeader::Field::put(MetaValue& to) const {
  const char *const begin = value.data(), *const end = begin + value.size();
  if (kind == Kind::integer) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error == std::errc() && stop == end) {
      to = number;
      return;
    }
  }
  if (kind == Kind::real) {
    double number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error == std::errc() && stop == end) {
      to = number;
      return;
    }
  }
  to.emplace<std::string>(value);
}

std::optional<LogHeader> parse_header(std::string_view text) {
  if (!header::may_have_header(text)) return std::nullopt;
  std::optional<LogHeader> found(std::in_place);
  header::HeaderLexer::Trace trace;
  if (!header::read_header(text, *found, trace)) {
    found.reset();
    return found;
  }
  header::mention_rank(text, *found);
  return found;
}

std::optional<RankPrefix> parse_rank_prefix(std::string_view text) {
  constexpr std::string_view kOpen = "[rank";
  if (!text.starts_with(kOpen)) return std::nullopt;
  RankPrefix prefix;
  std::size_t i = kOpen.size();
  for (; i < text.size() && header::is_digit(text[i]) && i < kOpen.size() + 8; ++i) {
    prefix.rank = prefix.rank * 10 + (text[i] - '0');
  }
  if (i == kOpen.size() || text.substr(i, 2) != "]:") return std::nullopt;
  i += 2;
  if (i < text.size() && text[i] == ' ') ++i;
  prefix.size = i;
  return prefix;
}

namespace {

// What follows a bare `rank=4` and shows that it is the writer's: no hyperparameter's neighbour
// (`rank=16, alpha=32`), and not what somebody else says of that rank.
bool goes_on_as_writer(std::string_view text) {
  static constexpr std::array<std::string_view, 14> kKeys{
      "iteration",  "iter", "step", "global_step", "epoch",  "batch", "loss",
      "local_rank", "host", "node", "pid",         "device", "gpu",   "world_size"};
  std::size_t begin = 0;
  while (begin < text.size() && std::string_view(" ,|:").find(text[begin]) < 4) ++begin;
  if (begin == 0 || begin == text.size()) return false;
  std::size_t end = begin;
  while (end < text.size() && header::is_word(text[end])) ++end;
  const auto word = text.substr(begin, end - begin);
  const bool key = end < text.size() && (text[end] == '=' || text[end] == ':');
  return key && std::find(kKeys.begin(), kKeys.end(), word) != kKeys.end();
}

}  // namespace

std::optional<std::int32_t> parse_bare_rank(std::string_view text) {
  if (text.size() < 6) return std::nullopt;
  const char open = text[0];
  const bool closes = open == '[' || open == '(';
  std::size_t i = closes ? 1 : 0;
  const auto word = text.substr(i, 4);
  if (word != "rank" && word != "Rank" && !(closes && word == "RANK")) return std::nullopt;
  i += 4;
  const char separator = text[i];
  const bool fits = separator == '=' || (closes && (separator == ' ' || separator == ':'));
  if (!fits) return std::nullopt;
  ++i;
  if (closes && separator != ' ' && i < text.size() && text[i] == ' ') ++i;
  std::int32_t rank = 0;
  const std::size_t begin = i;
  for (; i < text.size() && header::is_digit(text[i]); ++i) {
    if (i - begin == 7) return std::nullopt;
    rank = rank * 10 + (text[i] - '0');
  }
  if (i == begin) return std::nullopt;
  if (!closes) {
    if (!goes_on_as_writer(text.substr(i))) return std::nullopt;
    return rank;
  }
  if (i < text.size() && text[i] == '/') {  // of so many
    const std::size_t all = ++i;
    while (i < text.size() && header::is_digit(text[i])) ++i;
    if (i == all) return std::nullopt;
  }
  if (i >= text.size() || text[i] != (open == '[' ? ']' : ')')) return std::nullopt;
  ++i;
  if (i < text.size() && text[i] == ':') ++i;
  if (i < text.size() && !header::is_blank(text[i]) && text[i] != '[') return std::nullopt;
  return rank;
}

}  // namespace logarithm
