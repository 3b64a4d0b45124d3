#include "common/line/header_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/line/header_chars.h"
#include "common/line/header_steps.h"

namespace logarithm {
namespace {

using header::is_digit;
using header::is_letter;
using TimeForm = header::HeaderLexer::TimeForm;

std::string_view of(std::string_view text, std::uint8_t begin, std::uint8_t size) {
  return text.substr(begin, size);
}

// True when the lexer would find nothing in the first words of a message that belongs to the
// header. Errs to false: then the lexer decides.
bool begins_message(std::string_view message, bool letter_level) {
  if (message.empty()) return false;
  if (message.starts_with("[Rank ") || message.starts_with("[rank ")) return true;
  const char c = message[0];
  if (!is_letter(c)) {
    // Nothing that an element or a separator begins with.
    return !is_digit(c) && !header::is_blank(c) &&
           std::string_view("_/.~[({<-|>:,").find(c) == std::string_view::npos;
  }
  std::size_t end = 0, capitals = 0;
  while (end < message.size() && header::is_word(message[end])) {
    capitals += header::is_upper(message[end++]) ? 1u : 0u;
  }
  if (end > 60) return false;
  if (end == message.size()) return true;
  const auto word = message.substr(0, end);
  if (message[end] == '=') return word != "pid" && word != "tid";
  if (message[end] == ':') {
    if (capitals > 1 || letter_level) return false;
    ++end;
  }
  if (end + 1 >= message.size() || message[end] != ' ') return false;
  const char next = message[end + 1];
  return next != ' ' && next != '-' && next != '|' && next != '>' && next != ':' && next != '[';
}

// DCGM and rich print the call site behind the message.
bool may_end_with_place(std::string_view text) {
  if (text.back() == ']') return true;
  if (!is_digit(text.back())) return false;
  const std::size_t blank = text.rfind(' ');
  return blank != std::string_view::npos && blank > 0 && text[blank - 1] == ' ';
}

}  // namespace

std::optional<LogHeader> HeaderReader::read(std::string_view text) {
  if (!header::may_have_header(text)) return std::nullopt;
  std::array<char, kMaxPattern> alike;
  const std::size_t size = std::min(text.size(), kMaxPattern);
  for (std::size_t i = 0; i < size; ++i) {
    alike[i] = static_cast<unsigned char>(text[i] - '0') < 10 ? '0' : text[i];
  }
  std::optional<LogHeader> header(std::in_place);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (pattern.size > size || std::memcmp(pattern.text.data(), alike.data(), pattern.size) != 0) {
      continue;
    }
    if (!replay(pattern, text, *header)) break;
    if (i > 3) std::swap(patterns_[i], patterns_[i / 2]);
    header::mention_rank(text, *header);
    return header;
  }
  *header = LogHeader();
  header::HeaderLexer::Trace trace;
  if (!header::read_header(text, *header, trace)) {
    header.reset();
    return header;
  }
  learn(text, alike, *header, trace);
  header::mention_rank(text, *header);
  return header;
}

bool HeaderReader::replay(const Pattern& pattern, std::string_view text, LogHeader& header) const {
  if (pattern.file.size == 0 && may_end_with_place(text)) return false;
  // Where no blank ends the header, what comes next may be a part of its last word.
  const char next = pattern.header_size < text.size() ? text[pattern.header_size] : ' ';
  if (!header::is_blank(text[pattern.header_size - 1u]) && header::ends_token(next) &&
      !header::is_blank(next)) {
    return false;
  }
  if (!pattern.decided &&
      !begins_message(text.substr(pattern.header_size), pattern.level.size == 1)) {
    return false;
  }
  if (pattern.form != TimeForm::none) {
    std::size_t at = pattern.time.begin;
    const std::size_t end = at + pattern.time.size;
    const auto known = text.substr(0, pattern.size);
    header.time.emplace();
    const bool read = pattern.form == TimeForm::any
                          ? read_time(known, at, *header.time)
                          : header::HeaderLexer::read_stamp(known, at, true, *header.time);
    if (!read || at != end) return false;
  }
  header.size = pattern.header_size;
  header.severity = pattern.severity;
  header.level = of(text, pattern.level.begin, pattern.level.size);
  header.file = of(text, pattern.file.begin, pattern.file.size);
  header.file_line = of(text, pattern.file_line.begin, pattern.file_line.size);
  header.field_count = pattern.field_count;
  for (std::size_t i = 0; i < pattern.field_count; ++i) {
    const Field& field = pattern.fields[i];
    header.fields[i] = {field.key, of(text, field.value.begin, field.value.size), field.kind};
  }
  return true;
}

void HeaderReader::learn(std::string_view text, const std::array<char, kMaxPattern>& alike,
                         const LogHeader& header, const header::HeaderLexer::Trace& trace) {
  // Without a level the words of the message decide more than their beginning shows.
  if (!trace.lexed || trace.fragile || header.level.empty() || header.size == 0) return;
  // Digits that are not as good as any other.
  if (!header.file.empty() && is_digit(header.file.back())) return;
  const std::size_t size = std::max(header.size, trace.decided_by);
  // A word that the header ends with may be a longer one in the next line.
  if (size > kMaxPattern || size > text.size() || header::is_word(text[size - 1])) return;
  bool inside = true;
  auto span = [&](std::string_view part) -> Span {
    if (part.empty()) return {};
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    inside = inside && begin + part.size() <= size;
    return {static_cast<std::uint8_t>(begin), static_cast<std::uint8_t>(part.size())};
  };
  Pattern pattern;
  pattern.text = alike;
  pattern.size = static_cast<std::uint8_t>(size);
  pattern.header_size = static_cast<std::uint8_t>(header.size);
  pattern.decided = trace.decided_by != 0;
  pattern.severity = header.severity;
  pattern.level = span(header.level);
  pattern.file = span(header.file);
  pattern.file_line = span(header.file_line);
  for (std::size_t i = 0; i < header.field_count; ++i) {
    if (header.fields[i].value.starts_with("0x")) return;
    pattern.fields[i] = {header.fields[i].key, span(header.fields[i].value), header.fields[i].kind};
  }
  pattern.field_count = static_cast<std::uint8_t>(header.field_count);
  if (header.time) {
    // A zone or a half of the day may follow a time.
    if (trace.form == TimeForm::none || trace.time_end + 2 > size) return;
    pattern.form = trace.form;
    pattern.time = span(text.substr(trace.time_begin, trace.time_end - trace.time_begin));
  }
  if (!inside) return;
  if (patterns_.size() == kPatterns) patterns_.pop_back();
  patterns_.insert(patterns_.begin(), pattern);
}

}  // namespace logarithm
