#include <algorithm>
#include <array>

#include "common/line/digit_trace.h"
#include "common/line/header_chars.h"
#include "common/line/header_structured.h"
#include "common/line/log_level.h"

namespace logarithm::header {
namespace {

constexpr std::size_t kMaxObject = 16u << 10;

enum class Role { none, time, level, message, file, line, logger, func, pid, tid, rank };

struct Key {
  std::string_view name;
  Role role;
};

// zap, zerolog, slog, logrus, structlog, python-json-logger, Ray, pino, bunyan, tracing, Serilog,
// log4j, Google and Elastic.
constexpr std::array kKeys{Key{"time", Role::time},        Key{"ts", Role::time},
                           Key{"timestamp", Role::time},   Key{"asctime", Role::time},
                           Key{"@timestamp", Role::time},  Key{"@t", Role::time},
                           Key{"t", Role::time},           Key{"datetime", Role::time},
                           Key{"level", Role::level},      Key{"levelname", Role::level},
                           Key{"severity", Role::level},   Key{"lvl", Role::level},
                           Key{"log.level", Role::level},  Key{"loglevel", Role::level},
                           Key{"@l", Role::level},         Key{"severity_text", Role::level},
                           Key{"message", Role::message},  Key{"msg", Role::message},
                           Key{"event", Role::message},    Key{"@m", Role::message},
                           Key{"@mt", Role::message},      Key{"fields", Role::message},
                           Key{"body", Role::message},     Key{"filename", Role::file},
                           Key{"file", Role::file},        Key{"pathname", Role::file},
                           Key{"caller", Role::file},      Key{"source", Role::file},
                           Key{"src", Role::file},         Key{"code.filepath", Role::file},
                           Key{"module", Role::none},      Key{"lineno", Role::line},
                           Key{"line", Role::line},        Key{"line_number", Role::line},
                           Key{"code.lineno", Role::line}, Key{"logger", Role::logger},
                           Key{"name", Role::logger},      Key{"logger_name", Role::logger},
                           Key{"target", Role::logger},    Key{"funcName", Role::func},
                           Key{"func_name", Role::func},   Key{"func", Role::func},
                           Key{"function", Role::func},    Key{"process", Role::pid},
                           Key{"pid", Role::pid},          Key{"thread", Role::tid},
                           Key{"tid", Role::tid},          Key{"$date", Role::time},
                           Key{"rank", Role::rank},        Key{"global_rank", Role::rank}};

Role role_of(std::string_view name) {
  const auto found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return found == kKeys.end() ? Role::none : found->role;
}

struct Object {
  Object(std::string_view text, LogHeader& filled)
      : s(text.substr(0, kMaxObject)), header(filled) {}

  std::string_view s;
  std::size_t at = 1;
  LogHeader& header;
  std::string_view file, line;
  bool level = false, message = false, timed = false;

  void blanks() {
    while (at < s.size() && (is_blank(s[at]) || s[at] == '\n')) ++at;
  }
  bool take(char c) {
    blanks();
    if (at >= s.size() || s[at] != c) return false;
    ++at;
    return true;
  }
  // What stands between two quotes; `at` is behind the first and moves behind the second.
  bool quoted(std::string_view& out) {
    const std::size_t begin = at;
    while (true) {
      at = s.find_first_of("\"\\", at);
      if (at == std::string_view::npos) return at = s.size(), false;
      if (s[at] == '"') break;
      at += 2;
    }
    out = s.substr(begin, at - begin);
    ++at;
    return true;
  }
  // Moves behind an object or a list.
  bool skip_nested() {
    unsigned depth = 0;
    std::string_view ignored;
    while (at < s.size()) {
      const char c = s[at++];
      if (c == '"' && !quoted(ignored)) return false;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  // The members of an object, one level deep; `at` is behind its brace.
  bool members(unsigned depth) {
    if (take('}')) return true;
    do {
      std::string_view key, value;
      if (!take('"') || !quoted(key) || !take(':')) return false;
      blanks();
      if (at >= s.size()) return false;
      const Role role = key.size() <= 13 ? role_of(key) : Role::none;
      if (s[at] == '{' || s[at] == '[') {
        if (role == Role::message && depth == 0) message = true;
        const bool inside =
            s[at] == '{' && depth == 0 && (role == Role::time || role == Role::file);
        if (inside ? (++at, !members(1)) : !skip_nested()) return false;
        continue;
      }
      const bool text = s[at] == '"';
      if (text) {
        ++at;
        if (!quoted(value)) return false;
      } else {
        const std::size_t end = s.find_first_of(",} ", at);
        if (end == std::string_view::npos) return false;
        value = s.substr(at, end - at);
        at = end;
      }
      set(role, value, text);
    } while (take(','));
    return take('}');
  }

  void set(Role role, std::string_view value, bool text) {
    switch (role) {
      case Role::time: set_time(value); break;
      case Role::level: set_level(value, text); break;
      case Role::message: message = true; break;
      case Role::file:
        if (file.empty()) file = value;
        break;
      case Role::line:
        if (all_digits(value)) line = value;
        break;
      case Role::logger:
        if (text && is_name(value)) header.add("logger", value);
        break;
      case Role::func:
        if (text && value.size() <= 200) header.add("func", value);
        break;
      case Role::pid:
        if (all_digits(value)) header.add("pid", value, true);
        break;
      case Role::tid:
        if (all_digits(value)) header.add("tid", value, true);
        break;
      case Role::rank:
        if (all_digits(value)) header.add("rank", value, true);
        break;
      case Role::none: break;
    }
  }
  void set_time(std::string_view value) {
    PrintedTime time;
    std::size_t end = 0;
    if (header.time || !read_time_form(value, end, time) || end != value.size()) return;
    timed = true;
    if (!time.impossible) header.time = time;
  }
  void set_level(std::string_view value, bool text) {
    if (level) return;
    if (!text) DigitTrace::watch(value);
    if (!text) {  // pino and bunyan: 10 (trace) … 60 (fatal)
      if (value.size() != 2 || value[1] != '0' || value[0] < '1' || value[0] > '6') return;
      header.severity = static_cast<Severity>(value[0] - '0');
    } else if (const auto found = level_word(value)) {
      header.severity = found->severity;
    } else if (value.size() == 1 && level_letter(value[0])) {
      header.severity = *level_letter(value[0]);
    } else {
      return;
    }
    header.level = value;
    level = true;
  }
};

}  // namespace

bool parse_json(std::string_view text, LogHeader& header) {
  if (text.size() < 20 || !(text[1] == '"' || (text[1] == ' ' && text[2] == '"'))) return false;
  Object object(text, header);
  // A line that was cut is read as far as it goes.
  object.members(0);
  if (!object.level || !(object.message || object.timed)) return false;
  Place place;
  if (!object.line.empty() && !object.file.empty()) {
    header.file = object.file;
    header.file_line = object.line;
  } else if (split_place(object.file, place) && is_source_file(place.file)) {
    header.file = place.file;
    header.file_line = place.line;
  }
  return true;
}

}  // namespace logarithm::header
