#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/line/header_chars.h"
#include "common/line/log_header.h"
#include "common/line/log_level.h"

namespace logarithm::header {

// Reads a header of no format in particular: elements (time, level, place, pid, name, in brackets
// or not) and separators from left to right, until something is none of them. A strong element
// (time, level, place, pid) commits what stands before it; weak ones (a name, a number) count only
// when a strong one follows, because a message may begin like that. One pass, one use.
class HeaderLexer {
 public:
  // Fills `header`, which is to be empty, and is spoiled when read() returns false.
  HeaderLexer(std::string_view text, LogHeader& header);
  bool read();

  // Where the time stood that was read, for who reads the next line like this one.
  enum class TimeForm : std::uint8_t { none, any, stamp };
  struct Trace {
    TimeForm form = TimeForm::none;
    std::size_t time_begin = 0, time_end = 0;
    // What follows these bytes was not looked at; 0: the message's first words were.
    std::size_t decided_by = 0;
    bool lexed = false;    // the header is the lexer's
    bool fragile = false;  // other digits, or another message, might have been read otherwise
  };
  const Trace& trace() const { return trace_; }

  // glog's letter, date and clock at `at`, which moves behind them: `I0304 05:06:07.4`,
  // `I20260304 05:06:07.4`; c10 prints the month without its zero. With a fraction also what is
  // `impossible`.
  static bool read_stamp(std::string_view text, std::size_t& at, bool one_digit_month,
                         PrintedTime& time);

 private:
  enum class Step { stop, weak, strong };
  enum Evidence : std::uint32_t {
    kDate = 1,
    kClock = 2,       // a clock without date
    kExactClock = 4,  // … with a fraction, or in brackets
    kLevel = 8,
    kLoudLevel = 16,  // in a form that is a header without anything else
    kPlace = 32,
    kPid = 64,
    kName = 128,
    kAlone = 256,       // accepted as it is
    kNeedsLevel = 512,  // the separator is one of tables too
    kNoTime = 1024,     // what stands for a date is none: it needs a level or a place
  };
  // What a later weak element must not spoil.
  struct Mark {
    std::size_t size = 0, fields = 0;
    std::string_view level, logger;
    Severity severity = Severity::unset;
    std::uint32_t evidence = 0;
  };

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0';
  }
  char at(std::size_t i) const { return i < s_.size() ? s_[i] : '\0'; }
  bool has(std::uint32_t evidence) const { return (evidence_ & evidence) != 0; }
  bool timed() const { return has(kDate | kClock); }
  bool first() const { return evidence_ == 0 && weak_run_ == 0; }
  std::size_t token_end(std::size_t from) const;

  Step element();
  Step time();
  static bool names_date(const PrintedTime& time) { return time.has_date() || time.impossible; }
  bool try_time(std::string_view text, std::size_t& i, PrintedTime& time);
  bool stamp(std::size_t& i, bool one_digit_month);
  Step number();
  Step word();
  Step key_value(std::string_view key, std::size_t equals);
  Step level(std::string_view word, std::size_t end, bool colon, const LogLevel& found);
  Step level_and_logger(std::string_view token);
  Step name(std::string_view word, std::size_t end);
  Step bare_place(std::string_view token, std::size_t end);
  bool nccl();
  Step named_level(std::string_view name, std::size_t after);
  Step parenthesis();
  Step braces();
  Step angle();
  Step star();

  // header_forms.cpp
  bool padded_level();
  bool process_ids(std::string_view inner, char behind);
  Step named_process(std::string_view name, std::size_t open);
  Step named_program(std::string_view name, std::size_t open);
  bool before_level(std::size_t next) const;
  Step columns();
  void inner_header();
  bool text_begins_mpi(std::size_t close) const;
  bool bullet();
  Step hex_id();
  bool span();
  bool before_time(std::size_t next) const;
  bool before_closed_place(std::size_t next) const;
  bool ucx(std::size_t close);
  bool parallel_rank(std::string_view name, std::string_view number);

  // header_brackets.cpp
  Step bracket();
  Step doubled_bracket();
  bool uptime(std::size_t close);
  bool inside(std::size_t& i, std::size_t close);
  bool inside_word(std::size_t& i, std::size_t close);
  bool inside_number(std::size_t& i, std::size_t close);
  Step judge_bracket(std::size_t close, std::uint32_t before, bool was_first);

  void separator();
  void set_level(std::string_view printed, Severity severity);
  void set_time(const PrintedTime& time, TimeForm form, std::size_t begin, std::size_t end);
  void set_place(const Place& place);
  void commit();
  bool accepted() const;
  void trailing_place();

  std::string_view text_, s_;
  std::size_t at_ = 0;
  std::size_t message_ = 0;  // where the message begins if the last element was the last
  char style_ = ' ';         // of the last separator
  char style_before_ = ' ';
  unsigned weak_run_ = 0, bare_names_ = 0;
  bool done_ = false, stamped_ = false, padded_ = false, letter_level_ = false;
  bool bracketed_first_ = false;  // `[name] ` and nothing before it
  std::uint32_t evidence_ = 0;
  std::string_view logger_;
  Trace trace_;
  LogHeader& header_;
  Mark mark_;
  // What one bracket holds.
  unsigned names_inside_ = 0, items_inside_ = 0;
  bool single_number_ = false, frame_ = false, letter_ = false, pid_inside_ = false,
       mention_inside_ = false, parallel_inside_ = false;
  std::string_view name_inside_;
  std::size_t bracket_end_ = 0;  // … or of what stands directly behind it
};

}  // namespace logarithm::header
