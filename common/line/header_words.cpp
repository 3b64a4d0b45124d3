#include <algorithm>

#include "common/line/header_lexer.h"

// Words outside of brackets: levels, places, names.
namespace logarithm::header {

HeaderLexer::Step HeaderLexer::word() {
  const std::size_t end = token_end(at_);
  auto token = s_.substr(at_, end - at_);
  if (token.empty()) return Step::stop;
  const bool colon = token.back() == ':';
  if (colon) token.remove_suffix(1);
  if (at(end) == '=') return key_value(token, end);
  if (has(kLevel) && timed() && span()) return Step::strong;
  if (at(end) == '(' && is_digit(at(end + 1)) && has(kLevel) && !timed()) {
    if (const Step step = named_process(token, end); step != Step::stop) return step;
  }
  if (header_.level.empty()) {
    if (const auto found = level_word(token)) return level(token, end, colon, *found);
    if (first()) {
      if (const Step step = level_and_logger(token); step != Step::stop) return step;
    }
    if (first() && at(end) == '[') return named_program(token, end);
    // |CCL_WARN|
    if (at(end) == '|' && timed()) {
      const auto tail = token.substr(token.rfind('_') + 1);
      if (const auto found = level_word(tail); found && found->upper) {
        set_level(tail, found->severity);
        at_ = end;
        return Step::strong;
      }
    }
    if (timed() && !stamped_) {
      if (const Step step = columns(); step != Step::stop) return step;
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
  if (first() && colon) {
    const Step step = named_level(token, end);
    return step == Step::stop ? bare_place(token, end) : step;
  }
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
  // Behind a colon a word that is not all capitals begins the message: `core: Error text`.
  const bool follows = (style_ == '\t' || style_ == '-' || style_ == '|') && !first();
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
  // Python's basicConfig with a time: WARNING:2026-03-04 05:06:07,448:jax._src.xla_bridge:812: text
  std::size_t i = at_ + colon + 1;
  PrintedTime time;
  if (is_digit(at(i)) && read_time_form(s_, i, time) && at(i) == ':') {
    set_time(time, TimeForm::none, 0, 0);
    at_ = i + 1;
    const std::size_t end = token_end(at_);
    auto next = s_.substr(at_, end - at_);
    Place place;
    if (next.ends_with(':') && is_blank(at(end))) {
      next.remove_suffix(1);
      if (split_place(next, place) && is_name(place.file)) {
        set_place(place);
        at_ = end;
      }
    }
    message_ = std::min(at_ + (is_blank(at(at_)) ? 1u : 0u), s_.size());
    done_ = true;
    return Step::strong;
  }
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
  // main.cpp(88)     train.py[line:88]     module:func(88):
  if ((at(end) == '(' || at(end) == '[') && evident) {
    const std::size_t begin = s_.substr(end + 1).starts_with("line:") ? end + 6 : end + 1;
    std::size_t close = begin;
    while (is_digit(at(close))) ++close;
    const auto line = s_.substr(begin, close - begin);
    const std::size_t colon = token.find(':');
    const bool func = colon != std::string_view::npos && has(kLevel) && at(close + 1) == ':' &&
                      is_logger_name(token.substr(0, colon));
    if (!line.empty() && at(close) == (at(end) == '(' ? ')' : ']') &&
        (func || is_source_file(token))) {
      set_place(func ? Place{token.substr(0, colon), line, token.substr(colon + 1)}
                     : Place{token, line, {}});
      at_ = close + 1;
      return Step::strong;
    }
    if (at(end) == '(' && is_source_file(token)) return Step::stop;
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
    // log4j's class: TaskSetManager:71 - text
    const bool class_ = has(kLevel) && timed() && is_upper(place.file[0]) && is_name(place.file) &&
                        !is_counted_thing(place.file) && s_.substr(end, 3) == " - ";
    if (!glog && !three && !class_ && !(dotted && has(kLevel))) return Step::stop;
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
  // NCCL; NVSHMEM and others took the form over.
  std::size_t begin = i;
  while (is_upper(at(begin))) ++begin;
  if (begin < i + 3 || at(begin) != ' ') return false;
  const bool is_nccl = s_.substr(i, begin - i) == "NCCL";
  ++begin;
  const auto printed = s_.substr(begin, token_end(begin) - begin);
  const auto found = level_word(printed);
  if (!is_nccl && (!found || !found->upper)) return false;
  if (found) set_level(printed, found->severity);
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
    const bool rank = word.starts_with("rank") && all_digits(word.substr(4));
    if (rank) header_.add("rank", word.substr(4), true);
    if (!rank) logger_ = word;
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
    // tracing prints the line behind the target: `doseid::server: 39: text`
    if (after == ':' && digit_follows && word.find("::") != std::string_view::npos) {
      const std::size_t begin = end + 1;
      std::size_t stop = begin;
      while (is_digit(at(stop))) ++stop;
      if (stop > begin && at(stop) == ':' && is_blank(at(stop + 1)) && header_.file.empty()) {
        set_place({word, s_.substr(begin, stop - begin), {}});
        logger_ = word;
        at_ = stop;
        return Step::strong;
      }
    }
    const bool logger = is_logger_name(word) && (after == ':' || after == '-') && !digit_follows;
    // Android: 1234  5678 E Tag: text
    const bool tag = letter_level_ && weak_run_ > 2 && after == ':';
    // I20260304 05:06:07 65566 dinov2 helpers.py:103] text
    if (stamped_ && after == ' ' && before_closed_place(end)) {
      logger_ = word;
      return Step::weak;
    }
    const bool apart = after == ' ' && peek_after == '[' &&
                       word.find('.') != std::string_view::npos && is_logger_name(word);
    // zap's columns: a place may follow.
    if (before == '\t' && after == '\t' && header_.file.empty()) {
      logger_ = word;
      return is_logger_name(word) && peek_after != '{' ? Step::strong : Step::weak;
    }
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
  // LAUNCH ERROR 2026-03-04 05:06:07 text     trainer-0 2026-03-04 05:06:07 text
  // … and DLLogger's own name: DLL 2026-03-04 05:06:07 - text
  if (leading && !colon && after == ' ' &&
      (before_level(end) || ((is_digit(word.back()) || word == "DLL") && before_time(end)))) {
    logger_ = word;
    return Step::weak;
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

}  // namespace logarithm::header
