#include <array>

#include "common/line/header_lexer.h"

// Forms of elements that few loggers print.
namespace logarithm::header {

// rich leaves out the time that the line before has, and indents by its width: `[%X] `,
// `[%x %X] `, `[%Y-%m-%d %X] `. Levels are padded to eight letters.
// tracing without times prints ` WARN my_crate::mod: text`.
bool HeaderLexer::padded_level() {
  std::size_t begin = 0;
  while (at(begin) == ' ' && begin < 24) ++begin;
  if (begin > 2 && begin != 11 && begin != 20 && begin != 22) return false;
  const std::size_t end = token_end(begin);
  const auto word = s_.substr(begin, end - begin);
  const auto found = level_word(word);
  if (!found || !found->upper || !found->plain) return false;
  if (begin < 3) {
    const auto target =
        end + 1 < s_.size() ? s_.substr(end + 1, token_end(end + 1) - end - 1) : std::string_view();
    const bool rust = (end == 5 || end == 6) && at(end) == ' ' && target.ends_with(':') &&
                      target.find("::") != std::string_view::npos;
    if (!rust) return false;
    trace_.fragile = true;
    set_level(word, found->severity);
    evidence_ |= kLoudLevel;
    at_ = message_ = end + 1;
    commit();
    return true;
  }
  std::size_t next = end;
  while (at(next) == ' ') ++next;
  if (next != begin + 9 || next >= s_.size()) return false;
  set_level(word, found->severity);
  evidence_ |= kLoudLevel;
  at_ = message_ = next;
  commit();
  return true;
}

// What stands in parentheses: `PID:48213, Device:1, RankID:3`, `pid 48213`, `48213` (where
// `behind` sets it off), `name/48213 on gpu-n017`.
bool HeaderLexer::process_ids(std::string_view inner, char behind) {
  std::size_t i = 0;
  auto digits = [&]() {
    const std::size_t begin = i;
    while (i < inner.size() && is_digit(inner[i])) ++i;
    return inner.substr(begin, i - begin);
  };
  const auto head = inner.substr(0, 3);
  if (head == "PID" || head == "pid" || head == "Pid") {
    i = 3;
    while (i < inner.size() && (inner[i] == ':' || inner[i] == '=' || inner[i] == ' ')) ++i;
    const auto pid = i > 3 ? digits() : std::string_view();
    if (pid.empty() || (i < inner.size() && inner[i] != ',')) return false;
    header_.add("pid", pid, true);
    const std::size_t rank = inner.find("RankID:", i);  // torch_npu
    if (rank != std::string_view::npos) {
      i = rank + 7;
      header_.add("rank", digits(), true);
    }
    return true;
  }
  if (inner.empty()) return false;
  if (is_digit(inner[0])) {
    const auto pid = digits();
    if (i != inner.size() || pid.size() < 2 || !timed()) return false;
    const bool level_follows = behind == ' ' && at(at_ + inner.size() + 3) == '|';
    if (behind != ':' && !level_follows) return false;
    header_.add("pid", pid, true);
    return true;
  }
  const std::size_t slash = inner.find('/'), on = inner.find(" on ");
  if (slash == std::string_view::npos || on == std::string_view::npos || on < slash) return false;
  const auto pid = inner.substr(slash + 1, on - slash - 1), host = inner.substr(on + 4);
  if (!all_digits(pid) || !is_name(host) || !is_name(inner.substr(0, slash))) return false;
  header_.add("pid", pid, true);
  header_.add("host", host);
  return true;
}

// MindSpore, CANN: [ERROR] ME(130371:281473296949264,MainProcess):2026-03-04-05:06:07.839.923 text
HeaderLexer::Step HeaderLexer::named_process(std::string_view name, std::size_t open) {
  std::size_t i = open + 1;
  while (is_digit(at(i))) ++i;
  const auto pid = s_.substr(open + 1, i - open - 1);
  std::string_view tid;
  if (at(i) == ':') {
    const std::size_t begin = ++i;
    while (is_digit(at(i))) ++i;
    tid = s_.substr(begin, i - begin);
  }
  const std::size_t close = s_.find(')', i);
  if (!is_name(name) || (at(i) != ',' && at(i) != ')') || close == std::string_view::npos ||
      close > open + 120 || at(close + 1) != ':') {
    return Step::stop;
  }
  std::size_t end = close + 2;
  PrintedTime time;
  if (!try_time(s_, end, time) || !names_date(time) || !is_blank(at(end))) return Step::stop;
  set_time(time, TimeForm::any, close + 2, end);
  header_.add("pid", pid, true);
  header_.add("tid", tid, true);
  logger_ = name;
  at_ = end;
  return Step::strong;
}

// slurmctld[26180]: fatal: text. Like `srun: error: text`: the whole line stays the message.
HeaderLexer::Step HeaderLexer::named_program(std::string_view name, std::size_t open) {
  std::size_t i = open + 1;
  while (is_digit(at(i))) ++i;
  if (i == open + 1 || !is_name(name) || s_.substr(i, 3) != "]: ") return Step::stop;
  const std::size_t begin = i + 3, end = token_end(begin);
  const auto token = s_.substr(begin, end - begin);
  if (token.size() < 4 || token.back() != ':' || !is_blank(at(end))) return Step::stop;
  const auto word = token.substr(0, token.size() - 1);
  const auto found = level_word(word);
  if (!found || !found->plain) return Step::stop;
  set_level(word, found->severity);
  // Flux numbers its shells and brokers there.
  if (!name.starts_with("flux-")) header_.add("pid", s_.substr(open + 1, i - open - 1), true);
  evidence_ |= kLoudLevel;
  message_ = 0;
  done_ = true;
  return Step::strong;
}

// A level and a time stand behind `next`.
bool HeaderLexer::before_level(std::size_t next) const {
  while (is_blank(at(next))) ++next;
  const std::size_t end = token_end(next);
  const auto found = level_word(s_.substr(next, end - next));
  if (!found || !found->upper) return false;
  std::size_t i = end;
  while (is_blank(at(i))) ++i;
  if (at(i) == '[') ++i;
  PrintedTime time;
  return i > end && is_digit(at(i)) && read_time_form(s_, i, time) && names_date(time);
}

bool HeaderLexer::before_time(std::size_t next) const {
  while (is_blank(at(next))) ++next;
  if (at(next) == '[') ++next;
  PrintedTime time;
  return is_digit(at(next)) && read_time_form(s_, next, time) && names_date(time);
}

// glog's end of a header: `helpers.py:103]`.
bool HeaderLexer::before_closed_place(std::size_t next) const {
  while (is_blank(at(next))) ++next;
  const std::size_t end = token_end(next);
  Place place;
  return at(end) == ']' && split_place(s_.substr(next, end - next), place) &&
         is_source_file(place.file);
}

// Open MPI's `[host:pid] text`.
bool HeaderLexer::text_begins_mpi(std::size_t close) const {
  const auto inner = s_.substr(at_ + 1, close - at_ - 1);
  const std::size_t colon = inner.find(':');
  return colon != std::string_view::npos && at(close + 1) == ' ' &&
         is_machine(inner.substr(0, colon), inner.substr(colon + 1));
}

// Moves behind `>>> `, `* `, `| ` in front of a date. False for what begins so and has none.
bool HeaderLexer::bullet() {
  std::size_t i = 0;
  while (i < 4 && (at(i) == '>' || at(i) == '*' || at(i) == '|' || at(i) == '-' || at(i) == '#')) {
    ++i;
  }
  if (i == 0) return true;
  if (at(i) != ' ' || !before_time(i)) return false;
  at_ = i + 1;
  return true;
}

// Determined names the container, by the beginning of its id: 08204a0a || INFO: text
HeaderLexer::Step HeaderLexer::hex_id() {
  std::size_t end = at_;
  while (is_digit(at(end)) || (at(end) >= 'a' && at(end) <= 'f')) ++end;
  if (!timed() || end < at_ + 8 || s_.substr(end, 3) != " ||") return Step::stop;
  logger_ = s_.substr(at_, end - at_);
  at_ = end;
  return Step::weak;
}

// tracing prints what the line belongs to: `span{id=3}:inner{n=1}: target: text`, `ThreadId(01)`.
bool HeaderLexer::span() {
  std::size_t i = at_;
  if (s_.substr(i).starts_with("ThreadId(")) {
    i += 9;
    const std::size_t begin = i;
    while (is_digit(at(i))) ++i;
    if (i == begin || at(i) != ')') return false;
    header_.add("tid", s_.substr(begin, i - begin), true);
    evidence_ |= kPid;
    at_ = i + 1;
    return true;
  }
  while (is_word(at(i))) ++i;
  if (i == at_ || at(i) != '{') return false;
  const std::size_t close = s_.find("}: ", i);
  if (close == std::string_view::npos || close > i + 200) return false;
  // Only in front of a target.
  const std::size_t end = token_end(close + 3);
  const auto target = s_.substr(close + 3, end - close - 3);
  if (!target.ends_with(':') || target.find("::") == std::string_view::npos) return false;
  trace_.fragile = true;
  at_ = close + 1;
  return true;
}

// OLMo prints columns between time and level: gpu-n017:0  olmo.train:908  INFO
HeaderLexer::Step HeaderLexer::columns() {
  struct Column {
    std::string_view name, number;
  };
  std::array<Column, 3> columns;
  std::size_t count = 0, i = at_, last = at_;
  while (true) {
    const std::size_t end = token_end(i);
    const auto token = s_.substr(i, end - i);
    if (token.empty() || !is_blank(at(end))) return Step::stop;
    if (count > 0) {
      const auto found = level_word(token);
      if (found && found->upper && found->plain) break;
    }
    const std::size_t colon = token.rfind(':');
    if (count == columns.size() || colon == std::string_view::npos || colon == 0) return Step::stop;
    columns[count] = {token.substr(0, colon), token.substr(colon + 1)};
    const Column& column = columns[count++];
    if (!is_name(column.name) || !all_digits(column.number) || is_counted_thing(column.name)) {
      return Step::stop;
    }
    last = i = end;
    while (is_blank(at(i))) ++i;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const Column& column = columns[k];
    const bool logger = is_logger_name(column.name) || is_source_file(column.name);
    if (header_.file.empty() && (logger || k > 0)) {
      set_place({column.name, column.number, {}});
    } else {
      header_.add("host", column.name);
    }
  }
  at_ = last;
  return Step::weak;
}

// A logger that passes its lines on to another one: `[time] INFO     name - name - INFO: a.py:5
// text`
void HeaderLexer::inner_header() {
  std::size_t i = header_.size;
  if (i == 0 || !is_letter(at(i))) return;
  const std::size_t begin = i;
  std::string_view name;
  for (unsigned names = 0; names < 4; ++names) {
    const std::size_t end = token_end(i);
    const auto token = s_.substr(i, end - i);
    if (names > 0 && token.size() > 3 && token.back() == ':' && is_blank(at(end))) {
      const auto found = level_word(token.substr(0, token.size() - 1));
      if (!found || !found->upper || found->severity != header_.severity) return;
      i = end;
      break;
    }
    if (names == 3 || !is_name(token) || s_.substr(end, 3) != " - ") return;
    if (names == 0) name = token;
    i = end + 3;
  }
  if (i == begin) return;
  while (is_blank(at(i))) ++i;
  header_.size = std::min(i, s_.size());
  bool named = false;
  for (std::size_t k = 0; k < header_.field_count; ++k) {
    named = named || header_.fields[k].key == "logger";
  }
  if (!named) header_.add("logger", name);
  const std::size_t end = token_end(i);
  Place place;
  if (!is_blank(at(end)) || !split_place(s_.substr(i, end - i), place)) return;
  if (!is_source_file(place.file)) return;
  header_.file = place.file;
  header_.file_line = place.line;
  header_.add("func", place.func);
  header_.size = end + 1;
}

// UCX: [gpu-n017:48213:0] select.c:630 …, [gpu-n017:48213:0:48377] text
bool HeaderLexer::ucx(std::size_t close) {
  std::array<std::string_view, 4> parts;
  std::size_t count = 0, begin = at_ + 1;
  for (std::size_t i = begin; i <= close; ++i) {
    if (i != close && s_[i] != ':') continue;
    if (count == parts.size()) return false;
    parts[count++] = s_.substr(begin, i - begin);
    begin = i + 1;
    if (count > 1 ? !all_digits(parts[count - 1]) : !is_name(parts[0])) return false;
  }
  if (count < 3 || !is_blank(at(close + 1))) return false;
  std::size_t begin_place = close + 1;
  while (is_blank(at(begin_place))) ++begin_place;
  const std::size_t end_place = token_end(begin_place);
  Place place;
  const bool placed = split_place(s_.substr(begin_place, end_place - begin_place), place) &&
                      is_source_file(place.file);
  if (count == 3 && !placed) return false;
  if (placed) set_place(place);
  header_.add("host", parts[0]);
  header_.add("pid", parts[1], true);
  if (count == 4) header_.add("tid", parts[3], true);
  evidence_ |= kPid | kAlone;
  at_ = placed ? end_place : close + 1;
  return true;
}

// `TP`, `DP` … and a number: a rank inside a group, never the global one.
bool HeaderLexer::parallel_rank(std::string_view name, std::string_view number) {
  static constexpr std::array<std::array<std::string_view, 2>, 7> kNames{{{"TP", "tp_rank"},
                                                                          {"DP", "dp_rank"},
                                                                          {"PP", "pp_rank"},
                                                                          {"EP", "ep_rank"},
                                                                          {"CP", "cp_rank"},
                                                                          {"SP", "sp_rank"},
                                                                          {"ATTN", "attn_rank"}}};
  if (!all_digits(number)) return false;
  for (const auto& [printed, key] : kNames) {
    if (printed != name) continue;
    header_.add(key, number, true);
    parallel_inside_ = true;
    return true;
  }
  return false;
}

}  // namespace logarithm::header
