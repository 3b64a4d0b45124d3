#include <algorithm>

#include "common/line/header_lexer.h"

// What loggers put into brackets: the same elements as outside, several of them at once.
namespace logarithm::header {
namespace {

constexpr std::size_t kMaxBracket = 200;
constexpr unsigned kMaxNames = 3;

bool joins(char c) {
  return is_blank(c) || c == '|' || c == ',' || c == '/' || c == '-' || c == ':' || c == ';';
}
bool ends_inner(char c) { return ends_token(c) && c != '#' && c != ';'; }

}  // namespace

// [[NvSwitch]]
HeaderLexer::Step HeaderLexer::doubled_bracket() {
  const std::size_t close = s_.find("]]", at_);
  if (close == std::string_view::npos || !has(kLevel) || !has(kPid)) return Step::stop;
  const auto inner = s_.substr(at_ + 2, close - at_ - 2);
  if (!is_name(inner)) return Step::stop;
  header_.add("module", inner);
  at_ = close + 2;
  return Step::strong;
}

HeaderLexer::Step HeaderLexer::bracket() {
  std::size_t close = s_.find(']', at_ + 1);
  if (close == std::string_view::npos || close > at_ + kMaxBracket) return Step::stop;
  const bool was_first = first();
  if (was_first && text_begins_mpi(close)) return Step::stop;  // see parse_mpi()
  if (was_first && (uptime(close) || ucx(close))) return Step::strong;
  const Mark saved{0, header_.field_count, header_.level, logger_, header_.severity, evidence_};
  const bool had_time = header_.time.has_value(), had_file = !header_.file.empty();
  const std::uint32_t before = evidence_;
  names_inside_ = items_inside_ = 0;
  single_number_ = frame_ = letter_ = pid_inside_ = mention_inside_ = parallel_inside_ = false;
  name_inside_ = {};
  std::size_t i = at_ + 1;
  while (i < close) {
    if (joins(s_[i])) {
      ++i;
      continue;
    }
    const bool ok = items_inside_ < 8 && inside(i, close);
    if (!ok) break;
    ++items_inside_;
  }
  Step step = Step::stop;
  bracket_end_ = close + 1;
  if (i >= close && items_inside_ > 0) step = judge_bracket(close, before, was_first);
  if (step == Step::stop) {
    header_.field_count = saved.fields;
    header_.level = saved.level;
    header_.severity = saved.severity;
    logger_ = saved.logger;
    evidence_ = before;
    if (!had_time) header_.time.reset();
    if (!had_file) header_.file = header_.file_line = {};
    return step;
  }
  at_ = bracket_end_;
  return step;
}

// What the kernel prints, in seconds since the boot: `[    1.234567] `, `[512344.682838] `.
bool HeaderLexer::uptime(std::size_t close) {
  std::size_t i = at_ + 1;
  while (at(i) == ' ') ++i;
  const std::size_t begin = i;
  std::int64_t seconds = 0;
  while (is_digit(at(i)) && i - begin < 9) seconds = seconds * 10 + (s_[i++] - '0');
  if (i == begin || i - (at_ + 1) < 5 || at(i) != '.' || close != i + 7) return false;
  unsigned micros = 0;
  std::size_t fraction = i + 1;
  if (!read_digits(s_, fraction, 6, micros) || !is_blank(at(close + 1))) return false;
  PrintedTime time;
  time.uptime = seconds * 1'000'000'000 + std::int64_t{micros} * 1'000;
  header_.time = time;
  header_.add("uptime", s_.substr(begin, close - begin));
  header_.fields[header_.field_count - 1].kind = LogHeader::Kind::real;
  evidence_ |= kAlone;
  at_ = close + 1;
  return true;
}

bool HeaderLexer::inside(std::size_t& i, std::size_t close) {
  const char c = s_[i];
  if (!timed() && (is_digit(c) || is_upper(c))) {
    std::size_t end = i;
    PrintedTime time;
    const auto inner = s_.substr(0, close);
    if (try_time(inner, end, time) && (end == close || joins(s_[end]))) {
      set_time(time, TimeForm::any, i, end);
      evidence_ |= names_date(time) ? 0u : kExactClock;
      i = end;
      return true;
    }
    if (!has(kLevel) && is_upper(c) && stamp(i, true)) return true;
  }
  if (is_digit(c) || c == '#') return inside_number(i, close);
  return inside_word(i, close);
}

// `48213`, `#48213`, `5231:5273` (pid and thread), `0/0` (a frame of torch.compile), `0x7f3b`.
bool HeaderLexer::inside_number(std::size_t& i, std::size_t close) {
  const std::size_t begin = s_[i] == '#' ? i + 1 : i;
  std::size_t end = begin;
  while (end < close && is_digit(s_[end])) ++end;
  const auto number = s_.substr(begin, end - begin);
  if (number == "0" && at(end) == 'x') {
    while (end < close && is_word(s_[end])) ++end;
    if (end != close) return false;
    header_.add("tid", s_.substr(begin, end - begin));
    evidence_ |= kPid;
    pid_inside_ = true;
    i = end;
    return true;
  }
  if (number.empty()) return false;
  if (end == close || is_blank(s_[end]) || s_[end] == ',') {
    single_number_ = true;
    if (begin > 1 && s_[begin - 1] == '[' &&
        is_upper(s_[begin - 2])) {  // logrus: INFO[0042], seconds since the start
      evidence_ |= kLoudLevel;
      i = end;
      return pid_inside_ = true;
    }
    header_.add(has(kPid) ? "tid" : "pid", number, true);
    pid_inside_ = number.size() >= 2 || items_inside_ > 0;
    if (pid_inside_) evidence_ |= kPid;
    i = end;
    return true;
  }
  const char separator = s_[end];
  // Slurm's daemons: [2026-03-04T05:06:07.675] [123.0] error: text, [123.batch]
  if (separator == '.' && timed() && items_inside_ == 0 && number.size() > 1) {
    std::size_t stop = end + 1;
    while (stop < close && is_word(s_[stop])) ++stop;
    if (stop != close || stop == end + 1) return false;
    header_.add("job", number, true);
    evidence_ |= kPid;
    pid_inside_ = true;
    i = stop;
    return true;
  }
  if (separator != ':' && separator != '/') return false;
  std::size_t second = end + 1;
  while (second < close && (is_digit(s_[second]) || (separator == '/' && s_[second] == '_')))
    ++second;
  if (second == end + 1 || second != close || items_inside_ > 0) return false;
  if (separator == '/') {
    frame_ = true;
    header_.add("frame", s_.substr(begin, close - begin));
  } else {
    header_.add("pid", number, true);
    header_.add("tid", s_.substr(end + 1, second - end - 1), true);
    evidence_ |= kPid;
    pid_inside_ = true;
  }
  i = second;
  return true;
}

bool HeaderLexer::inside_word(std::size_t& i, std::size_t close) {
  std::size_t end = i;
  while (end < close && !ends_inner(s_[end])) ++end;
  auto token = s_.substr(i, end - i);
  const bool had_colon = !token.empty() && token.back() == ':';
  if (had_colon) token.remove_suffix(1);
  if (token.empty()) return false;
  // Times of celery stand before a colon, levels before a slash.
  const std::size_t cut = token.find('/');
  const auto head = token.substr(0, cut);
  if (header_.level.empty()) {
    if (const auto found = level_word(head)) {
      set_level(head, found->severity);
      i += head.size();
      return true;
    }
    if (head.size() == 1 && level_letter(head[0])) {
      set_level(head, *level_letter(head[0]));
      letter_ = true;
      i += 1;
      return true;
    }
    // Apache: [core:error]
    const std::size_t colon = token.find(':');
    if (timed() && colon != std::string_view::npos) {
      const auto tail = token.substr(colon + 1);
      if (const auto found = level_word(tail)) {
        set_level(tail, found->severity);
        logger_ = token.substr(0, colon);
        i = end;
        return true;
      }
    }
  }
  // pid 123     PID:123     RANK:0     rank: 3     tid 2211     dp=0
  std::size_t value = end;
  const std::size_t colon = token.find(':');
  auto key = colon == std::string_view::npos ? token : token.substr(0, colon);
  if (colon != std::string_view::npos) value = i + colon + 1;
  const char gap = at(value);
  if (value < close && (gap == ' ' || gap == '=')) ++value;
  std::size_t number_end = value;
  while (number_end < close && is_digit(s_[number_end])) ++number_end;
  const bool numbered = number_end > value && (number_end == close || joins(s_[number_end]));
  if (numbered && key.size() <= 6) {
    const auto number = s_.substr(value, number_end - value);
    const bool rank = key == "RANK" || key == "rank" || key == "Rank";
    const bool pid = key == "PID" || key == "pid", tid = key == "TID" || key == "tid";
    // "[Rank 3]" is the beginning of many messages, and rules know them by it.
    const bool mention = rank && gap == ' ' && colon == std::string_view::npos && !had_colon;
    if (mention && has(kLevel)) return false;
    if (mention) {
      header_.add("rank", number, true);
      mention_inside_ = true;
      i = number_end;
      return true;
    }
    if (rank || pid || tid) {
      header_.add(rank ? "rank" : pid ? "pid" : "tid", number, true);
      evidence_ |= kPid;
      pid_inside_ = true;
      i = number_end;
      return true;
    }
  }
  if (at(end) == '=') {  // [INFO|DP=0|PP=0|gpu-n017]
    if (items_inside_ == 0) return false;
    while (end < close && !is_blank(s_[end]) && s_[end] != '|' && s_[end] != ',') ++end;
    const std::size_t equals = i + token.size();
    parallel_rank(token, s_.substr(equals + 1, end - std::min(end, equals + 1)));
    i = end;
    return true;
  }
  if (items_inside_ > 0 && token.size() < 7) {  // [2026-03-04 05:06:07 DP1 TP3]
    std::size_t digit = token.size();
    while (digit > 0 && is_digit(token[digit - 1])) --digit;
    if (parallel_rank(token.substr(0, digit), token.substr(digit))) {
      i = end;
      return true;
    }
  }
  Place place;
  if (header_.file.empty() && split_place(token, place)) {
    const bool source = is_source_file(place.file);
    const bool two_numbers = place.func.empty() && place.line.end() != token.end();
    if (!source && two_numbers && timed() && is_name(place.file)) {  // UCX: [gpu-n017:48213:0]
      header_.add("host", place.file);
      header_.add("pid", place.line, true);
      evidence_ |= kPid;
      pid_inside_ = true;
      i = end;
      return true;
    }
    // SageMaker's hook: [2026-03-04 05:06:07.837 host.internal:22 INFO hook.py:90]
    if (!source && place.func.empty() && items_inside_ > 0 && timed() && header_.level.empty() &&
        is_name(place.file) && is_blank(at(i + token.size()))) {
      const std::size_t begin = i + token.size() + 1, stop = token_end(begin);
      if (stop < close && level_word(s_.substr(begin, stop - begin))) {
        header_.add("host", place.file);
        header_.add("pid", place.line, true);
        i += token.size();
        return true;
      }
    }
    const bool evident = timed() || has(kLevel);
    if (source || (evident && is_name(place.file) && !is_counted_thing(place.file))) {
      set_place(place);
      i += token.size();
      return true;
    }
  }
  if (!is_name(token) || ++names_inside_ > kMaxNames) return false;
  name_inside_ = token;
  if (parallel_inside_ && token.find('-') != std::string_view::npos && is_digit(token.back())) {
    header_.add("host", token);
    i = end;
    return true;
  }
  // NeMo prints its own name in front of everything; a logger's stands behind.
  if (timed() || has(kLevel)) logger_ = token;
  i = end;
  return true;
}

HeaderLexer::Step HeaderLexer::judge_bracket(std::size_t close, std::uint32_t before,
                                             bool was_first) {
  const std::uint32_t found = evidence_ & ~before;
  const char next = at(close + 1);
  const bool ends = close + 1 >= s_.size();
  if ((found & kDate) != 0) return Step::strong;
  if ((found & kClock) != 0) return names_inside_ <= 1 ? Step::strong : Step::stop;
  if ((found & kLevel) != 0) {
    if ((found & kPlace) != 0 || pid_inside_) return Step::strong;
    if (letter_ && items_inside_ > 1) return Step::stop;
    if (letter_ && was_first &&
        (!is_blank(next) || s_[at_ + 1] == 'D' || s_[at_ + 1] == 'V' || s_[at_ + 1] == 'F' ||
         s_[at_ + 1] == 'T' || s_[at_ + 1] == 'C')) {
      return Step::stop;
    }
    if (names_inside_ > 1 || (names_inside_ == 1 && !is_upper(header_.level.back())))
      return Step::stop;
    // A heading of a configuration file, or a link of a document.
    if (was_first && (ends || (next != ' ' && next != '[' && next != ':'))) return Step::stop;
    if (was_first && next == ':' && !is_upper(header_.level.back())) return Step::stop;
    evidence_ |= kLoudLevel;
    return Step::strong;
  }
  if ((found & kPlace) != 0) {
    if (was_first && (names_inside_ > 0 || !is_source_file(header_.file))) return Step::stop;
    if (was_first) evidence_ |= kAlone;
    if (is_blank(next) || next == ':' || next == '[' || ends) return Step::strong;
    // CANN prints the thread behind the place: [host_cpu_engine.cc:288]947062 text
    if (!has(kLevel) || !timed() || !is_digit(next)) return Step::stop;
    std::size_t stop = close + 1;
    while (is_digit(at(stop))) ++stop;
    if (!is_blank(at(stop))) return Step::stop;
    header_.add("tid", s_.substr(close + 1, stop - close - 1), true);
    bracket_end_ = stop;
    return Step::strong;
  }
  if (mention_inside_) return items_inside_ == 1 ? Step::weak : Step::stop;
  if (was_first) {
    if (single_number_ && items_inside_ == 1 && header_.fields[0].value.size() > 2)
      return Step::weak;
    // Lightning: [rank: 3] text
    const bool rank = items_inside_ == 1 && header_.field_count == 1 &&
                      header_.fields[0].key == "rank" && is_blank(next);
    if (rank) {
      evidence_ |= kAlone;
      return Step::strong;
    }
    if (pid_inside_ || names_inside_ != 1 || items_inside_ != 1) return Step::stop;
    bracketed_first_ = true;
    return Step::weak;
  }
  if (frame_) return has(kLevel) ? Step::stop : Step::weak;
  if (pid_inside_) {
    const auto& last = header_.fields[std::max<std::size_t>(header_.field_count, 1) - 1];
    if (single_number_ && has(kLevel) && last.value.size() < 3 && !has(kLoudLevel)) {
      return Step::stop;
    }
    return names_inside_ == 0 ? Step::strong : Step::stop;
  }
  if (single_number_) return has(kLevel) ? Step::stop : Step::weak;
  if (names_inside_ != 1 || items_inside_ != 1) return Step::stop;
  // `[main]` between time and level is a thread or a logger; behind a level it begins the message,
  // unless a place or a logger follows.
  logger_ = name_inside_;
  const bool leading = has(kLevel) && !timed() && header_.level.size() > 3 &&
                       is_lower(name_inside_[0]) && !is_counted_thing(name_inside_) && !ends;
  const bool evident =
      leading || (has(kLevel) && is_logger_name(name_inside_) && !is_upper(name_inside_[0]));
  if (evident) evidence_ |= kName;
  return evident ? Step::strong : Step::weak;
}

}  // namespace logarithm::header
