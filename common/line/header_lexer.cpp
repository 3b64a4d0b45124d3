#include "common/line/header_lexer.h"

namespace logarithm::header {
namespace {

constexpr std::size_t kWindow = 512;  // a header that is longer than this is text
constexpr unsigned kMaxElements = 14;
constexpr unsigned kMaxWeakRun = 4;

bool separates(char c) { return c == '-' || c == '|' || c == '>' || c == ':'; }

}  // namespace

HeaderLexer::HeaderLexer(std::string_view text, LogHeader& header)
    : text_(text), s_(text.substr(0, kWindow)), header_(header) {}

std::size_t HeaderLexer::token_end(std::size_t from) const {
  while (from < s_.size() && !ends_token(s_[from])) ++from;
  return from;
}

bool HeaderLexer::read() {
  while (peek() == ' ' && at_ < 3) ++at_;
  if (at_ > 0 && peek() != '[') return false;  // Megatron prints a blank in front
  for (unsigned i = 0; i < kMaxElements && !done_; ++i) {
    padded_ = false;
    const Step step = element();
    if (step == Step::stop) break;
    if (!done_) separator();
    if (step == Step::strong) {
      commit();
    } else if (++weak_run_ > kMaxWeakRun) {
      break;
    }
    if (at_ >= s_.size()) break;
  }
  evidence_ = mark_.evidence;
  if (!accepted()) return false;
  trace_.lexed = true;
  header_.size = mark_.size;
  header_.field_count = mark_.fields;
  header_.level = mark_.level;
  header_.severity = mark_.severity;
  header_.add("logger", mark_.logger);
  if (has(kLevel) && has(kPid) && header_.file.empty() && text_.back() == ']') trailing_place();
  return true;
}

bool HeaderLexer::accepted() const {
  if (has(kNeedsLevel) && !has(kLevel)) return false;
  if (has(kDate | kLoudLevel | kAlone | kExactClock)) return true;
  return has(kLevel) && has(kClock | kPlace | kPid | kName);
}

void HeaderLexer::commit() {
  mark_ = Mark{message_, header_.field_count, header_.level, logger_, header_.severity, evidence_};
  weak_run_ = bare_names_ = 0;
}

// Moves behind what separates two elements. `message_` becomes the place where a message would
// begin: one blank behind the element or its separator, so that indentation is kept.
void HeaderLexer::separator() {
  style_before_ = style_;
  style_ = ' ';
  std::size_t i = at_;
  if ((at(i) == ':' || at(i) == ',') && (i + 1 >= s_.size() || is_blank(s_[i + 1]))) {
    style_ = ':';
    ++i;
  }
  std::size_t next = i;
  while (is_blank(at(next))) {
    if (at(next) == '\t') style_ = '\t';
    ++next;
  }
  std::size_t mark = next;
  while (mark < s_.size() && mark < next + 3 && separates(s_[mark])) ++mark;
  const bool apart = mark >= s_.size() || is_blank(s_[mark]) || s_[next] == '|';
  if (mark > next && apart && (next > i || s_[next] == '|')) {
    style_ = s_[next];
    i = next = mark;
    while (is_blank(at(next))) ++next;
    if (style_ == '-' && at(next) == ':' && is_blank(at(next + 1))) {  // Ruby without a program
      i = ++next;
      while (is_blank(at(next))) ++next;
    }
  }
  message_ = padded_ ? next : std::min(i + (is_blank(at(i)) ? 1u : 0u), s_.size());
  at_ = next;
}

void HeaderLexer::set_level(std::string_view printed, Severity severity) {
  header_.level = printed;
  header_.severity = severity;
  evidence_ |= kLevel;
}

void HeaderLexer::set_time(const PrintedTime& time, TimeForm form, std::size_t begin,
                           std::size_t end) {
  header_.time = time;
  trace_.form = form;
  trace_.time_begin = begin;
  trace_.time_end = end;
  if (time.has_date() || time.instant) {
    evidence_ |= kDate;
  } else {
    evidence_ |= time.nanos != 0 ? kClock | kExactClock : kClock;
  }
}

void HeaderLexer::set_place(const Place& place) {
  header_.file = place.file;
  header_.file_line = place.line;
  if (!is_source_file(place.file)) header_.add("module", place.file);
  header_.add("func", place.func);
  evidence_ |= kPlace;
}

HeaderLexer::Step HeaderLexer::element() {
  const char c = peek();
  switch (c) {
    case '[': return peek(1) == '[' ? doubled_bracket() : bracket();
    case '(': return parenthesis();
    case '{': return braces();
    case '<': return angle();
    default: break;
  }
  if (is_digit(c)) return timed() ? number() : time();
  if (is_upper(c) && !timed()) {
    std::size_t i = at_;
    if (!has(kLevel) && stamp(i, false)) {
      at_ = i;
      stamped_ = true;
      return Step::strong;
    }
    if (is_lower(peek(1)) && time() == Step::strong) return Step::strong;
    // Ruby: E, [2026-03-04T05:06:07.448120 #48213] ERROR -- : text
    if (first() && s_.substr(at_ + 1).starts_with(", [") && is_digit(peek(4)) && level_letter(c)) {
      at_ += 3;
      return bracket();
    }
  }
  if (is_letter(c) || c == '_' || c == '/' || c == '.' || c == '~') return word();
  return Step::stop;
}

bool HeaderLexer::try_time(std::string_view text, std::size_t& i, PrintedTime& time) {
  if (read_time(text, i, time)) return true;
  trace_.fragile =
      trace_.fragile || is_digit(at(i)) || (is_lower(at(i + 2)) && !is_word(at(i + 3)));
  return false;
}

HeaderLexer::Step HeaderLexer::time() {
  std::size_t i = at_;
  PrintedTime time;
  if (!try_time(s_, i, time)) return has(kLevel) ? number() : Step::stop;
  const std::size_t time_end = i;
  const char next = at(i);
  if (i < s_.size() && !is_blank(next) && next != ':' && next != ',' && next != '|') {
    return Step::stop;
  }
  if (time.instant && !is_blank(next)) return Step::stop;
  // A column of a table, unless a level says that it is a log; so is a bare number.
  if (next == ',' || next == '\t' || time.instant) evidence_ |= kNeedsLevel;
  if (next == ':' && i + 1 < s_.size() && !is_blank(s_[i + 1])) return Step::stop;
  if (!time.has_date() && s_.substr(i).starts_with(" --> ")) return Step::stop;  // subtitles
  if (next == ',' && !is_blank(at(i + 1))) ++i;
  set_time(time, TimeForm::any, at_, time_end);
  at_ = i;
  return Step::strong;
}

// Before absl is initialised the date is 0000 and the seconds count from 1970.
bool HeaderLexer::read_stamp(std::string_view text, std::size_t& at, bool one_digit_month,
                             PrintedTime& time) {
  auto peek = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  if (!level_letter(peek(at)) || !is_digit(peek(at + 1))) return false;
  std::size_t k = at + 1, run = 0;
  while (is_digit(peek(k + run))) ++run;
  time = PrintedTime();
  if (run == 8) {
    unsigned year = 0;
    read_digits(text, k, 4, year);
    time.year = static_cast<int>(year);
  } else if (run != 4 && !(one_digit_month && run == 3)) {
    return false;
  }
  read_digits(text, k, run == 3 ? 1 : 2, time.month);
  read_digits(text, k, 2, time.day);
  if (peek(k) != ' ') return false;
  ++k;
  if (time.month == 0 && text.substr(k).starts_with("00:00:")) {
    k += 6;
    if (!read_epoch(text, k, time)) return false;
  } else if (time.month == 0 || !read_clock(text, k, time) || !is_date(time)) {
    return false;
  }
  if (!is_blank(peek(k))) return false;
  at = k;
  return true;
}

bool HeaderLexer::stamp(std::size_t& i, bool one_digit_month) {
  const std::size_t begin = i;
  PrintedTime time;
  if (!read_stamp(s_, i, one_digit_month, time)) {
    trace_.fragile = trace_.fragile || is_digit(at(i + 1));
    return false;
  }
  set_level(s_.substr(begin, 1), *level_letter(s_[begin]));
  set_time(time, TimeForm::stamp, begin, i);
  return true;
}

// Process and thread ids: `48213`, `1234#5678`, `0x7f3b6e72`.
HeaderLexer::Step HeaderLexer::number() {
  if (!timed() && !has(kLevel)) return Step::stop;
  std::size_t end = at_;
  const bool hex = at(at_) == '0' && at(at_ + 1) == 'x';
  if (hex) end += 2;
  while (is_digit(at(end)) || (hex && is_word(at(end)))) ++end;
  const auto digits = s_.substr(at_, end - at_);
  if (hex) {
    if (!is_blank(at(end))) return Step::stop;
    header_.add("tid", digits);
  } else if (at(end) == '#' && is_digit(at(end + 1))) {
    std::size_t tid = end + 1;
    while (is_digit(at(tid))) ++tid;
    header_.add("pid", digits, true);
    header_.add("tid", s_.substr(end + 1, tid - end - 1), true);
    at_ = tid;
    evidence_ |= kPid;
    return Step::strong;
  } else {
    if (!is_blank(at(end))) return Step::stop;
    header_.add(stamped_ || has(kPid) || weak_run_ > 0 ? "tid" : "pid", digits, true);
  }
  at_ = end;
  return Step::weak;
}

HeaderLexer::Step HeaderLexer::word() {
  const std::size_t end = token_end(at_);
  auto token = s_.substr(at_, end - at_);
  if (token.empty()) return Step::stop;
  const bool colon = token.back() == ':';
  if (colon) token.remove_suffix(1);
  if (at(end) == '=') return key_value(token, end);
  if (header_.level.empty()) {
    if (const auto found = level_word(token)) return level(token, end, colon, *found);
    if (first()) {
      if (const Step step = level_and_logger(token); step != Step::stop) return step;
    }
    // 05:06:07 I | text     03-04 05:06:07.448  1234  5678 E Tag: text     … I service.cc:152] text
    if (token.size() == 1 && !colon && timed() && level_letter(token[0]) && is_blank(at(end))) {
      set_level(token, *level_letter(token[0]));
      letter_level_ = true;
      at_ = end;
      if (at(end + 1) == '|' && is_blank(at(end + 2))) return Step::strong;
      return Step::weak;
    }
  }
  if (!header_.file.empty() || (token.find(':') != std::string_view::npos && nccl())) {
    if (done_) return Step::strong;
  }
  if (first() && colon) return named_level(token, end);
  if (const Step step = bare_place(token, end); step != Step::stop) return step;
  if (!is_name(token)) return Step::stop;
  return name(token, end);
}

// A level that stands by itself: INFO, INFO:, and after a time also `info:`.
HeaderLexer::Step HeaderLexer::level(std::string_view word, std::size_t end, bool colon,
                                     const LogLevel& found) {
  std::size_t next = end;
  while (is_blank(at(next))) ++next;
  const char after = at(next);
  const bool set_off = colon || next >= end + 2 || after == '[' || after == '|' || after == '-' ||
                       after == ':' || at(end) == '\t';
  const bool follows = (style_ == '	' || (style_ != '>' && separates(style_))) && !first();
  if (first()) {
    if (!found.upper || !found.plain) return Step::stop;
    if (colon || (after == '-' && is_blank(at(next + 1)))) evidence_ |= kLoudLevel;
  } else if (bracketed_first_ && !timed()) {
    if (!found.upper || !colon) return Step::stop;
    evidence_ |= kLoudLevel;
  } else if (!found.upper && !set_off && !follows) {
    return Step::stop;
  }
  if (!timed() && !first() && !found.upper) return Step::stop;
  set_level(word, found.severity);
  padded_ = !colon;
  at_ = end - (colon ? 1u : 0u);
  // `LEVEL ` alone says nothing yet.
  return Step::strong;
}

// ERROR:torch.distributed.elastic:text     WARNING:text
HeaderLexer::Step HeaderLexer::level_and_logger(std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos || colon + 1 >= token.size() || token[colon + 1] == ':') {
    return Step::stop;
  }
  const auto word = token.substr(0, colon);
  const auto found = level_word(word);
  if (!found || !found->upper || !found->plain) return Step::stop;
  set_level(word, found->severity);
  evidence_ |= kLoudLevel;
  const auto rest = s_.substr(at_ + colon + 1);
  const std::size_t second = rest.find(':');
  const auto logger = rest.substr(0, second);
  at_ += colon + 1;
  if (second != std::string_view::npos && is_name(logger)) {
    logger_ = logger;
    at_ += second + 1;
    trace_.decided_by = at_;
  }
  message_ = at_;
  done_ = true;
  return Step::strong;
}

// srun: error: text     slurmstepd-gpu-n017: error: text. The whole line stays the message: who
// says it is half of it.
HeaderLexer::Step HeaderLexer::named_level(std::string_view name, std::size_t after) {
  if (!is_name(name) || name.find(':') != std::string_view::npos || !is_blank(at(after))) {
    return Step::stop;
  }
  const std::size_t begin = after + 1, end = token_end(begin);
  const auto token = s_.substr(begin, end - begin);
  if (token.size() < 4 || token.back() != ':' || !is_blank(at(end))) return Step::stop;
  const auto word = token.substr(0, token.size() - 1);
  const auto found = level_word(word);
  if (!found || !found->plain) return Step::stop;
  set_level(word, found->severity);
  evidence_ |= kLoudLevel;
  message_ = 0;
  done_ = true;
  return Step::strong;
}

// level=info between other elements.
HeaderLexer::Step HeaderLexer::key_value(std::string_view key, std::size_t equals) {
  if (!timed()) return Step::stop;
  std::size_t end = equals + 1;
  while (end < s_.size() && !is_blank(s_[end])) ++end;
  auto value = s_.substr(equals + 1, end - equals - 1);
  if (key == "level" || key == "lvl" || key == "severity") {
    const auto found = level_word(value);
    if (!found || !header_.level.empty()) return Step::stop;
    set_level(value, found->severity);
    at_ = end;
    return Step::strong;
  }
  if (key == "pid" || key == "tid") {
    if (!all_digits(value)) return Step::stop;
    header_.add(key == "pid" ? "pid" : "tid", value, true);
    at_ = end;
    return Step::weak;
  }
  return Step::stop;
}

// `train.py:88`, `trainer.cc:211]`, `train.loop:run_epoch:88 -`, `main.cpp(88)`.
HeaderLexer::Step HeaderLexer::bare_place(std::string_view token, std::size_t end) {
  if (!header_.file.empty()) return Step::stop;
  const bool evident = timed() || has(kLevel);
  if (at(end) == '(' && evident && is_source_file(token)) {
    std::size_t close = end + 1;
    while (is_digit(at(close))) ++close;
    if (close == end + 1 || at(close) != ')') return Step::stop;
    set_place({token, s_.substr(end + 1, close - end - 1), {}});
    at_ = close + 1;
    return Step::strong;
  }
  Place place;
  if (!split_place(token, place)) return Step::stop;
  const bool closed = at(end) == ']';
  const bool source = is_source_file(place.file);
  if (!source) {
    const bool dotted =
        place.file.find('.') != std::string_view::npos && is_logger_name(place.file);
    const bool glog = closed && stamped_;
    const bool three = !place.func.empty() && has(kLevel) && is_name(place.file);
    if (!glog && !three && !(dotted && has(kLevel))) return Step::stop;
  }
  if (!evident && !closed) {
    // Where a line begins with a place, only what follows can say that it is a header.
    set_place(place);
    const bool has_colon = at_ + token.size() < end;
    at_ = end - (has_colon ? 1u : 0u);
    return Step::weak;
  }
  set_place(place);
  at_ = at_ + token.size();
  if (closed) ++at_;
  return Step::strong;
}

// gpu-n017:48213:48377 [3] transport/nvls.cc:598 NCCL WARN text. "NCCL WARN" stays in the message:
// rules know NCCL's lines by it.
bool HeaderLexer::nccl() {
  std::size_t i = at_, parts[3] = {0, 0, 0};
  for (std::size_t part = 0; part < 2; ++part) {
    i = s_.find(':', i);
    if (i == std::string_view::npos || i > at_ + 80) return false;
    parts[part] = i++;
    if (!is_digit(at(i))) return false;
  }
  while (is_digit(at(i))) ++i;
  parts[2] = i;
  const auto host = s_.substr(at_, parts[0] - at_);
  const auto pid = s_.substr(parts[0] + 1, parts[1] - parts[0] - 1);
  if (!all_digits(pid) || host.empty() || host.find_first_of(" []()") != std::string_view::npos ||
      !s_.substr(i).starts_with(" [")) {
    return false;
  }
  const std::size_t device = i += 2;
  if (at(i) == '-') ++i;
  while (is_digit(at(i))) ++i;
  const auto gpu = s_.substr(device, i - device);
  if (gpu.empty() || !s_.substr(i).starts_with("] ")) return false;
  i += 2;
  while (is_digit(at(i)) || at(i) == '.') ++i;  // NCCL TRACE prints a time of its own
  if (at(i) == ' ') ++i;
  std::size_t end = token_end(i);
  Place place;
  const bool placed = split_place(s_.substr(i, end - i), place);
  if (placed) i = end + 1;
  if (!s_.substr(std::min(i, s_.size())).starts_with("NCCL ")) return false;
  const std::size_t begin = i + 5;
  const auto printed = s_.substr(begin, token_end(begin) - begin);
  if (const auto found = level_word(printed)) set_level(printed, found->severity);
  if (placed) set_place(place);
  header_.add("host", host);
  header_.add("pid", pid, true);
  header_.add("tid", s_.substr(parts[1] + 1, parts[2] - parts[1] - 1), true);
  header_.add("cuda_dev", gpu, true);
  evidence_ |= kAlone;
  trace_.decided_by = begin + printed.size() + 1;
  at_ = message_ = i;
  done_ = true;
  return true;
}

// Of a logger, a program, a thread. It counts when a strong element follows, or when it is set off
// like the elements before it.
HeaderLexer::Step HeaderLexer::name(std::string_view word, std::size_t end) {
  const bool colon = at_ + word.size() < end;
  const bool leading = first();
  // core.ERROR: text
  const std::size_t dot = word.rfind('.');
  if (colon && timed() && header_.level.empty() && dot != std::string_view::npos) {
    const auto tail = word.substr(dot + 1);
    if (const auto found = level_word(tail); found && found->upper) {
      set_level(tail, found->severity);
      logger_ = word.substr(0, dot);
      at_ = end - 1;
      return Step::strong;
    }
  }
  // rank0[48213][MainThread]: …     prog[123]: …
  if (at(end) == '[' && timed() && !has(kLevel)) {
    std::size_t close = end + 1;
    while (is_digit(at(close))) ++close;
    if (close == end + 1 || at(close) != ']') return Step::stop;
    header_.add("pid", s_.substr(end + 1, close - end - 1), true);
    evidence_ |= kPid;
    logger_ = word;
    at_ = close + 1;
    return Step::strong;
  }
  if (end < s_.size() && !is_blank(at(end)) && at(end) != '|') return Step::stop;
  const std::size_t saved = at_;
  at_ = end - (colon ? 1u : 0u);
  const std::size_t element_end = at_;
  const char before = style_, before_that = style_before_;
  separator();
  const char after = style_;
  const char peek_after = peek();
  const bool digit_follows = is_digit(peek_after);
  style_ = before;
  style_before_ = before_that;
  at_ = element_end;
  if (has(kLevel)) {
    const bool alike = (after == '-' || after == '|') && before == after;
    const bool logger = is_logger_name(word) && (after == ':' || after == '-') && !digit_follows;
    // Android: 1234  5678 E Tag: text
    const bool tag = letter_level_ && weak_run_ > 2 && after == ':';
    const bool apart = after == ' ' && peek_after == '[' &&
                       word.find('.') != std::string_view::npos && is_logger_name(word);
    if (!alike && !logger && !tag && !apart) {
      // log4j and others put the name into brackets or pad it; a bare word begins the message.
      at_ = saved;
      return Step::stop;
    }
    trace_.fragile = trace_.fragile || apart;
    logger_ = word;
    evidence_ |= kName;
    return Step::strong;
  }
  if (after == ' ' || after == '\t') {
    if (leading || ++bare_names_ > 1) {
      at_ = saved;
      return Step::stop;
    }
  } else {
    evidence_ |= kName;
  }
  logger_ = word;
  return Step::weak;
}

// (EngineCore_DP0 pid=48213) ERROR …     (train.py:88)     (MainProcess) INFO …
HeaderLexer::Step HeaderLexer::parenthesis() {
  const std::size_t close = s_.find(')', at_);
  if (close == std::string_view::npos || close > at_ + 80) return Step::stop;
  const auto inner = s_.substr(at_ + 1, close - at_ - 1);
  Place place;
  if (header_.file.empty() && (timed() || has(kLevel)) && split_place(inner, place) &&
      is_source_file(place.file)) {
    set_place(place);
    at_ = close + 1;
    return Step::strong;
  }
  if (has(kLevel) && !is_name(inner)) return Step::stop;
  const std::size_t pid = inner.find("pid=");
  if (pid != std::string_view::npos && pid > 1 && is_blank(inner[pid - 1])) {
    std::size_t end = pid + 4;
    while (end < inner.size() && is_digit(inner[end])) ++end;
    header_.add("proc", inner.substr(0, pid - 1));
    header_.add("pid", inner.substr(pid + 4, end - pid - 4), true);
  } else if (is_name(inner)) {
    logger_ = inner;
  } else {
    return Step::stop;
  }
  at_ = close + 1;
  return Step::weak;
}

// Airflow: {taskinstance.py:1234}
HeaderLexer::Step HeaderLexer::braces() {
  const std::size_t close = s_.find('}', at_);
  if (!timed() || close == std::string_view::npos) return Step::stop;
  Place place;
  if (!header_.file.empty() || !split_place(s_.substr(at_ + 1, close - at_ - 1), place) ||
      !is_source_file(place.file)) {
    return Step::stop;
  }
  set_place(place);
  at_ = close + 1;
  return Step::strong;
}

// <info>
HeaderLexer::Step HeaderLexer::angle() {
  const std::size_t close = s_.find('>', at_);
  if (close == std::string_view::npos || close > at_ + 20 || !header_.level.empty())
    return Step::stop;
  const auto word = s_.substr(at_ + 1, close - at_ - 1);
  const auto found = level_word(word);
  if (!found || !timed()) return Step::stop;
  set_level(word, found->severity);
  at_ = close + 1;
  return Step::strong;
}

// DCGM's host engine prints the place behind the message: text [path/file.cpp:1423] [function]
void HeaderLexer::trailing_place() {
  const std::size_t function = text_.rfind(" [");
  if (function == std::string_view::npos || function == 0 || text_[function - 1] != ']') return;
  const std::size_t open = text_.rfind(" [", function - 1);
  if (open == std::string_view::npos || open < header_.size) return;
  Place place;
  if (!split_place(text_.substr(open + 2, function - open - 3), place)) return;
  if (!is_source_file(place.file)) return;
  header_.file = place.file;
  header_.file_line = place.line;
}

}  // namespace logarithm::header
