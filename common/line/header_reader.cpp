#include "common/line/header_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "common/line/digit_shape.h"
#include "common/line/hash64.h"
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

// A blank or the text's end is behind the header, or ends it.
bool ends_clearly(std::string_view text, std::size_t header_size) {
  return header::is_blank(text[header_size - 1]) || header_size == text.size() ||
         header::is_blank(text[header_size]);
}

// DCGM and rich print the call site behind the message.
bool may_end_with_place(std::string_view text) {
  if (text.back() == ']') return true;
  if (!is_digit(text.back())) return false;
  const std::size_t blank = text.rfind(' ');
  return blank != std::string_view::npos && blank > 0 && text[blank - 1] == ' ';
}

// True when the value of some digit may decide whether there is a header: levels that are numbers
// (JSON's, and HIP's `:3:file`), and times, of which every form has `5:0` or six digits in a row.
bool digits_may_decide(std::string_view text) {
  if (text[0] == '{' || text[0] == ':') return true;
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      if (++run == 6) return true;
      continue;
    }
    if (run > 0 && text[i] == ':' && i + 1 < text.size() && is_digit(text[i + 1])) return true;
    run = 0;
  }
  return false;
}

// Texts without a header that begin as if they had one, as fold_digits() writes them; for all
// streams of a thread. The newest wins.
class Headerless {
 public:
  bool knows(std::string_view folded) { return place(folded) == folded; }
  void keep(std::string_view folded) { place(folded) = folded; }

 private:
  std::string& place(std::string_view folded) { return texts_[hash64(folded) % texts_.size()]; }
  std::array<std::string, 1024> texts_;
};

Headerless& headerless() {
  thread_local Headerless texts;
  return texts;
}

}  // namespace

std::optional<LogHeader> HeaderReader::read(std::string_view text) {
  if (!header::may_have_header(text)) return std::nullopt;
  std::array<char, kMaxHeaderless> folded;
  const bool whole = text.size() <= folded.size();
  const std::size_t size = std::min(text.size(), whole ? folded.size() : kMaxPattern);
  fold_digits(text.substr(0, size), folded.data());
  const std::string_view alike(folded.data(), std::min(size, kMaxPattern));
  std::optional<LogHeader> header;
  if (const Pattern* known = find(alike)) {
    if (replay(*known, text, header.emplace())) {
      header::mention_rank(text, *header);
      return header;
    }
    header.reset();
  }
  const std::string_view all(folded.data(), size);
  if (whole && headerless().knows(all)) return header;
  header.emplace();
  header::HeaderLexer::Trace trace;
  if (!header::read_header(text, *header, trace)) {
    if (whole && !digits_may_decide(text)) headerless().keep(all);
    header.reset();
    return header;
  }
  learn(text, alike, *header, trace);
  header::mention_rank(text, *header);
  return header;
}

// The last one that is not behind `alike`: what `alike` begins with, if no longer pattern lies
// between the two. Then the lexer reads the line.
const HeaderReader::Pattern* HeaderReader::find(std::string_view alike) const {
  const auto behind =
      std::upper_bound(patterns_.begin(), patterns_.end(), alike,
                       [](std::string_view text, const std::unique_ptr<Pattern>& pattern) {
                         return text < pattern->alike();
                       });
  if (behind == patterns_.begin()) return nullptr;
  const Pattern* pattern = std::prev(behind)->get();
  return alike.starts_with(pattern->alike()) ? pattern : nullptr;
}

bool HeaderReader::replay(const Pattern& pattern, std::string_view text, LogHeader& header) const {
  if (pattern.file.size == 0 && may_end_with_place(text)) return false;
  // Where no blank ends the header, what comes next decides about its last element.
  if (!ends_clearly(text, pattern.header_size)) return false;
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
    if (!read || at != end || header.time->impossible) return false;
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

void HeaderReader::learn(std::string_view text, std::string_view alike, const LogHeader& header,
                         const header::HeaderLexer::Trace& trace) {
  // Without a level the words of the message decide more than their beginning shows.
  if (!trace.lexed || trace.fragile || header.level.empty() || header.size == 0) return;
  if (!ends_clearly(text, header.size)) return;
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
  std::memcpy(pattern.text.data(), alike.data(), size);
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
  keep(pattern);
}

void HeaderReader::keep(const Pattern& pattern) {
  if (patterns_.size() == kPatterns) {
    // Any of them: where so many come in turn, none is better than another.
    next_out_ = (next_out_ + 17) % kPatterns;
    patterns_.erase(patterns_.begin() + static_cast<std::ptrdiff_t>(next_out_));
  }
  const auto place = std::lower_bound(patterns_.begin(), patterns_.end(), pattern.alike(),
                                      [](const std::unique_ptr<Pattern>& known,
                                         std::string_view text) { return known->alike() < text; });
  if (place != patterns_.end() && (*place)->alike() == pattern.alike()) {
    **place = pattern;  // its message began otherwise
  } else {
    patterns_.insert(place, std::make_unique<Pattern>(pattern));
  }
}

}  // namespace logarithm
