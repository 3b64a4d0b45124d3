#include "common/line/header_lexer.h"

#include "common/line/digit_trace.h"

namespace logarithm::header {
namespace {

constexpr std::size_t kWindow = 512;  // a header that is longer than this is text
constexpr unsigned kMaxElements = 14;
constexpr unsigned kMaxWeakRun = 4;

}  // namespace

HeaderLexer::HeaderLexer(std::string_view text, LogHeader& header)
    : text_(text), s_(text.substr(0, kWindow)), header_(header) {}

std::size_t HeaderLexer::token_end(std::size_t from) const {
  while (from < s_.size() && !ends_token(s_[from])) ++from;
  return from;
}

bool HeaderLexer::read() {
  while (peek() == ' ' && at_ < 3) ++at_;
  if (at_ > 0 && peek() != '[' && !padded_level()) return false;  // Megatron prints a blank
  if (at_ == 0 && !bullet()) return false;
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
  if (has(kLevel) && header_.file.empty()) {
    inner_header();
    if (header_.file.empty()) trailing_place();
  }
  return true;
}

bool HeaderLexer::accepted() const {
  if (has(kNeedsLevel) && !has(kLevel)) return false;
  if (has(kNoTime)) return has(kLevel | kPlace);
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
  } else if (at(i) == ';' && timed()) {
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
  if (time.impossible) {  // all but the time is as good as any other header's
    trace_.fragile = true;
    evidence_ |= kDate | kNoTime;
    return;
  }
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
    case '*': return star();
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
  if (read_time_form(text, i, time)) return true;
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
  if (i < s_.size() && !is_blank(next) && next != ':' && next != ',' && next != '|' &&
      next != ';') {
    return Step::stop;
  }
  if (time.instant && !is_blank(next)) return Step::stop;
  // A column of a table, unless a level says that it is a log; so is a bare number.
  if (next == ',' || next == '\t' || next == ';' || time.instant) evidence_ |= kNeedsLevel;
  const bool process = next == ':' && at(i + 1) == '(';  // oneCCL: 2026:03:04-05:06:07:(48213)
  if (process) ++i;
  if (!process && next == ':' && i + 1 < s_.size() && !is_blank(s_[i + 1])) return Step::stop;
  if (!time.has_date() && s_.substr(i).starts_with(" --> ")) return Step::stop;  // subtitles
  if (next == ',' && !is_blank(at(i + 1))) ++i;
  set_time(time, TimeForm::any, at_, time_end);
  at_ = i;
  return Step::strong;
}

namespace {

// Before absl is initialised the date is 0000 and the seconds count from 1970.
bool stamp_at(std::string_view text, std::size_t& at, bool one_digit_month, PrintedTime& time) {
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
  } else if (!read_clock_form(text, k, time)) {
    return false;
  } else if (time.month == 0 || !is_date(time) || !is_clock(time)) {
    if (text.substr(0, k).find('.', at) == std::string_view::npos) return false;
    time = PrintedTime();
    time.impossible = true;
  }
  if (!is_blank(peek(k))) return false;
  at = k;
  return true;
}

}  // namespace

bool HeaderLexer::read_stamp(std::string_view text, std::size_t& at, bool one_digit_month,
                             PrintedTime& time) {
  const auto reader = one_digit_month ? TimeProbe::Reader::short_stamp : TimeProbe::Reader::stamp;
  return DigitTrace::follow(reader, text, at, time,
                            [one_digit_month](std::string_view s, std::size_t& i, PrintedTime& t) {
                              return stamp_at(s, i, one_digit_month, t);
                            });
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
  } else if (timed() && at(end) == ':' && is_digit(at(end + 1))) {  // 58093:58094 ERROR
    std::size_t tid = end + 1;
    while (is_digit(at(tid))) ++tid;
    if (!is_blank(at(tid))) return Step::stop;
    header_.add("pid", digits, true);
    header_.add("tid", s_.substr(end + 1, tid - end - 1), true);
    end = tid;
  } else if (!is_blank(at(end))) {
    return hex_id();
  } else {
    header_.add(stamped_ || has(kPid) || weak_run_ > 0 ? "tid" : "pid", digits, true);
  }
  at_ = end;
  return Step::weak;
}

// (EngineCore_DP0 pid=48213) ERROR …     (train.py:88)     (MainProcess) INFO …
HeaderLexer::Step HeaderLexer::parenthesis() {
  const std::size_t close = s_.find(')', at_);
  if (close == std::string_view::npos || close > at_ + 80) return Step::stop;
  const auto inner = s_.substr(at_ + 1, close - at_ - 1);
  Place place;
  // (WARNING) (reconstruct.py) (04-Mar-26 05:06:07) text
  if (!timed() && !inner.empty() && (is_digit(inner[0]) || is_upper(inner[0]))) {
    std::size_t end = at_ + 1;
    PrintedTime time;
    if (try_time(s_.substr(0, close), end, time) && end == close && names_date(time)) {
      set_time(time, TimeForm::any, at_ + 1, close);
      at_ = close + 1;
      return Step::strong;
    }
  }
  if (header_.level.empty()) {
    const auto found = level_word(inner);
    if (found && found->plain && (found->upper || timed())) {
      set_level(inner, found->severity);
      at_ = close + 1;
      return timed() ? Step::strong : Step::weak;
    }
  }
  // 2026-03-04 05:06:07 train.py ERROR (88): text
  if (has(kLevel) && header_.file.empty() && is_source_file(logger_) && all_digits(inner)) {
    set_place({logger_, inner, {}});
    logger_ = {};
    at_ = close + 1;
    return Step::strong;
  }
  if ((timed() || has(kLevel)) && process_ids(inner, at(close + 1))) {
    evidence_ |= kPid;
    at_ = close + 1;
    return Step::strong;
  }
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

// *ERROR*
HeaderLexer::Step HeaderLexer::star() {
  const std::size_t close = s_.find('*', at_ + 1);
  if (!timed() || !header_.level.empty() || close > at_ + 12) return Step::stop;
  const auto word = s_.substr(at_ + 1, close - at_ - 1);
  const auto found = level_word(word);
  if (!found || !found->upper) return Step::stop;
  set_level(word, found->severity);
  at_ = close + 1;
  return Step::strong;
}

// Two loggers print the place behind the message. DCGM's host engine: text [path/file.cpp:1423]
// [function]; rich: text    train.py:88
void HeaderLexer::trailing_place() {
  std::size_t begin = text_.rfind(' ');
  if (begin == std::string_view::npos || begin < header_.size) return;
  std::size_t end = text_.size();
  if (text_.back() == ']') {
    if (!has(kPid) || begin == 0 || text_[begin - 1] != ']' || text_[begin + 1] != '[') return;
    end = begin - 1;
    begin = text_.rfind('[', end);
    if (begin == std::string_view::npos || begin < header_.size) return;
  } else if (!timed() || begin == 0 || text_[begin - 1] != ' ') {
    return;
  }
  Place place;
  if (!split_place(text_.substr(begin + 1, end - begin - 1), place)) return;
  if (!is_source_file(place.file)) return;
  header_.file = place.file;
  header_.file_line = place.line;
}

}  // namespace logarithm::header
