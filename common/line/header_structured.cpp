#include "common/line/header_structured.h"

#include <algorithm>

#include "common/line/header_chars.h"
#include "common/line/log_level.h"

namespace logarithm::header {
namespace {

constexpr std::size_t kMaxPath = 512;

// The whole word is a level: `info`, `WARN`, `I`.
bool set_level(LogHeader& header, std::string_view word) {
  if (const auto found = level_word(word)) {
    header.severity = found->severity;
  } else if (word.size() == 1 && level_letter(word[0])) {
    header.severity = *level_letter(word[0]);
  } else {
    return false;
  }
  header.level = word;
  return true;
}

bool set_place(LogHeader& header, std::string_view token) {
  Place place;
  if (!split_place(token, place)) return false;
  header.file = place.file;
  header.file_line = place.line;
  header.add("func", place.func);
  return true;
}

// True also for a date that is none: the key shows that it was to be one.
bool set_time(LogHeader& header, std::string_view value) {
  PrintedTime time;
  std::size_t at = 0;
  if (!read_time_form(value, at, time) || at != value.size()) return false;
  if (!time.impossible) header.time = time;
  return true;
}

bool one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool parse_logfmt(std::string_view text, LogHeader& header) {
  const std::string_view s = text.substr(0, 512);
  const std::size_t equals = s.find('=');
  // Most lines end here: the first word is no key.
  if (equals == std::string_view::npos || equals > 12 || equals == 0) return false;
  if (!one_of(s.substr(0, equals), {"time", "ts", "t", "timestamp", "level", "lvl", "severity"})) {
    return false;
  }
  std::string_view file, line;
  bool timed = false;
  std::size_t at = 0;
  while (at < s.size()) {
    const std::size_t begin = at;
    while (at < s.size() && (is_word(s[at]) || s[at] == '.' || s[at] == '-')) ++at;
    const auto key = s.substr(begin, at - begin);
    if (key.empty() || at >= s.size() || s[at] != '=') break;
    // What comes behind time and level, and says neither, is the message: step=120 loss=2.31
    const bool known =
        one_of(key, {"time", "ts", "t", "timestamp", "level", "lvl", "severity", "caller", "source",
                     "file", "src", "line", "lineno", "logger", "component", "pid", "tid"});
    if (!known && header.severity != Severity::unset && timed) {
      header.size = begin;
      break;
    }
    if (one_of(key, {"msg", "message"})) {
      header.size = begin;
      break;
    }
    ++at;
    const bool quoted = at < s.size() && s[at] == '"';
    const std::size_t value_begin = quoted ? at + 1 : at;
    const std::size_t end = quoted ? s.find('"', value_begin) : s.find(' ', at);
    const auto value =
        s.substr(value_begin, end == std::string_view::npos ? end : end - value_begin);
    at = end == std::string_view::npos ? s.size() : end + (quoted ? 1 : 0);
    if (one_of(key, {"time", "ts", "t", "timestamp"})) {
      timed = set_time(header, value) || timed;
    } else if (one_of(key, {"level", "lvl", "severity"})) {
      set_level(header, value);
    } else if (one_of(key, {"caller", "source", "file", "src"})) {
      if (!set_place(header, value)) file = value;
    } else if (one_of(key, {"line", "lineno"}) && all_digits(value)) {
      line = value;
    } else if (one_of(key, {"logger", "component"})) {
      header.add("logger", value);
    } else if (one_of(key, {"pid", "tid"})) {
      header.add(key == "pid" ? "pid" : "tid", value, all_digits(value));
    }
    while (at < s.size() && s[at] == ' ') ++at;
    if (header.severity != Severity::unset && timed) header.size = at;
  }
  if (header.severity == Severity::unset || header.size == 0) return false;
  if (header.file.empty() && !line.empty() && is_source_file(file)) {
    header.file = file;
    header.file_line = line;
  }
  return true;
}

bool parse_diagnostic(std::string_view text, LogHeader& header) {
  constexpr std::string_view kPanic = "' panicked at ";
  const std::string_view s = text.substr(0, kMaxPath);
  if (s.starts_with("thread '")) {
    const std::size_t at = s.find(kPanic);
    if (at == std::string_view::npos) return false;
    std::size_t end = at + kPanic.size();
    while (end < s.size() && !is_blank(s[end])) ++end;
    auto token = s.substr(at + kPanic.size(), end - at - kPanic.size());
    while (token.ends_with(':')) token.remove_suffix(1);
    if (!set_place(header, token)) return false;
    header.severity = Severity::error;
    return true;
  }
  // The first `:digits:` ends the place; a path may hold blanks.
  std::size_t colon = 0, end = 0;
  while (true) {
    colon = s.find(':', colon + 1);
    if (colon == std::string_view::npos || colon + 1 >= s.size()) return false;
    if (!is_digit(s[colon + 1])) {
      if (is_blank(s[colon + 1])) return false;
      continue;
    }
    end = colon + 1;
    while (end < s.size() && is_digit(s[end])) ++end;
    break;
  }
  const auto file = s.substr(0, colon);
  const auto line = s.substr(colon + 1, end - colon - 1);
  if (end < s.size() && s[end] == ':' && end + 1 < s.size() && is_digit(s[end + 1])) {
    for (++end; end < s.size() && is_digit(s[end]);) ++end;
  }
  if (!s.substr(end).starts_with(": ") || line.size() > 7) return false;
  const bool pseudo = file.size() > 2 && file.front() == '<' && file.back() == '>';
  if (!pseudo && !is_source_file(file.substr(file.rfind('/') + 1))) return false;
  const auto rest = s.substr(end + 2);
  const std::size_t stop = rest.find(':');
  const auto word = rest.substr(0, stop == std::string_view::npos ? 0 : stop);
  header.file = file;
  header.file_line = line;
  if (word.ends_with("Warning") && is_name(word)) {
    header.severity = Severity::warning;
    header.add("category", word);
    header.size = end + 2 + stop + 1;
  } else if (one_of(word, {"error", "warning", "fatal error", "note"})) {
    set_level(header, word == "fatal error" ? word.substr(0, 5) : word);
    header.size = end + 2 + stop + 1;
  } else if (text.find("ssertion ", end) != std::string_view::npos &&
             text.find("failed", end) != std::string_view::npos) {
    header.severity = Severity::error;
  } else if (pseudo || file.find('/') == std::string_view::npos) {
    return false;
  } else {
    header.size = end + 2;
    return true;
  }
  if (header.size > 0 && header.size < text.size() && text[header.size] == ' ') ++header.size;
  return true;
}

namespace {

// [host:pid] pml_ucx.c:419  Error: text     [host:pid] PMIX ERROR: text
void read_mpi_text(std::string_view text, LogHeader& header) {
  const auto token = text.substr(0, text.find(' '));
  Place place;
  if (split_place(token, place) && is_source_file(place.file)) {
    header.file = place.file;
    header.file_line = place.line;
    text.remove_prefix(token.size());
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  }
  const std::size_t colon = text.find(": ");
  if (colon > 16) return;
  const auto words = text.substr(0, colon);
  const auto word = words.substr(words.rfind(' ') + 1);
  if (const auto found = level_word(word); found && found->plain) set_level(header, word);
}

}  // namespace

bool parse_mpi(std::string_view text, LogHeader& header) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 80 || colon < 2) return false;
  std::size_t end = colon + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == colon + 1 || !text.substr(end).starts_with("] ")) return false;
  const auto host = text.substr(1, colon - 1);
  if (host.find_first_of(" \t[](),;") != std::string_view::npos) return false;
  const auto rest = text.substr(end + 2);
  const bool head = rest.starts_with("*** Process received signal");
  const bool row = head || rest.starts_with("*** End of error") || rest.starts_with("Signal: ") ||
                   rest.starts_with("Signal code: ") || rest.starts_with("Failing at ") ||
                   rest.starts_with("Associated errno") ||
                   (rest.starts_with("[") && rest.size() > 3 && rest[3] == ']' &&
                    (rest[1] == ' ' || is_digit(rest[1])) && is_digit(rest[2]));
  if (row) {
    header.report_row = !head;
    header.severity = Severity::fatal;
  } else {
    // Anything else only behind what looks like a machine and a process.
    if (!is_machine(host, text.substr(colon + 1, end - colon - 1))) return false;
    read_mpi_text(rest.substr(0, kMaxPath), header);
  }
  header.add("host", host);
  header.add("pid", text.substr(colon + 1, end - colon - 1), true);
  return true;
}

}  // namespace logarithm::header
