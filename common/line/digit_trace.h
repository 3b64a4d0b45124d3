#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "common/line/log_time.h"

namespace logarithm {

// One reading of a time, and how it went. Whether digits are a time hangs on their values, so what
// was made of a line holds for a line with other digits if all its readings go the same way.
struct TimeProbe {
  enum class Reader : std::uint8_t {
    time,           // read_time
    form,           // read_time_form
    clock,          // read_clock
    date,           // read_date
    iso,            // read_iso
    epoch,          // read_epoch
    stamp,          // HeaderLexer::read_stamp
    short_stamp,    // the same, the month may have one digit
    month_stamp,    // wrappers::read_month_stamp
    weekday_stamp,  // wrappers::read_weekday_stamp
  };
  Reader reader = Reader::time;
  bool plain = false;  // `2026-03-04 05:06:07.448`, and nothing behind it that could belong to it
  std::uint8_t traits = 0;  // of the time, as far as anyone asks for them; 0: none was read
  std::uint16_t begin = 0, size = 0;  // the text that the reader had
  std::uint16_t at = 0, end = 0;      // where in that text

  // Reads again in `line`, whose shape is that of the line that was traced. False when it goes
  // another way; else `time` is what was read, if anything was.
  bool holds(std::string_view line, PrintedTime& time) const;
  bool operator==(const TimeProbe&) const = default;
};

// Notes what the readers of headers and wrappers ask of the values of digits in `line` (at most
// 64 KiB), on this thread, from its construction to its end. Beside times only a few bytes matter;
// lengths, classes of characters and 0x are the shape's.
class DigitTrace {
 public:
  explicit DigitTrace(std::string_view line);
  ~DigitTrace();
  DigitTrace(const DigitTrace&) = delete;
  DigitTrace& operator=(const DigitTrace&) = delete;

  struct Reading {
    TimeProbe probe;
    PrintedTime time;
  };
  const std::vector<Reading>& readings() const { return readings_; }
  // Places of digits that have to be what they are.
  const std::vector<std::uint16_t>& places() const { return places_; }
  // Something was read that does not lie in the line, or give_up() was called.
  bool blind() const { return blind_; }

  // For readers. Runs `read`, and notes how it went if anyone wants to know; what `read` asks for
  // itself is not noted.
  template <typename Read>
  static bool follow(TimeProbe::Reader reader, std::string_view text, std::size_t& at,
                     PrintedTime& time, Read read) {
    if (current_ == nullptr) return read(text, at, time);
    DigitTrace* const trace = std::exchange(current_, nullptr);
    const std::size_t from = at;
    const bool found = read(text, at, time);
    current_ = trace;
    trace->note(reader, text, from, at, found ? &time : nullptr);
    return found;
  }
  // What decided cannot be noted: the line has to be read anew each time.
  static void give_up() {
    if (current_ != nullptr) current_->blind_ = true;
  }
  // The digits of `text` decided something.
  static void watch(std::string_view text) {
    if (current_ != nullptr) current_->note_places(text);
  }

 private:
  void note(TimeProbe::Reader reader, std::string_view text, std::size_t from, std::size_t end,
            const PrintedTime* found);
  void note_places(std::string_view text);
  bool inside(std::string_view text) const;

  static constinit thread_local DigitTrace* current_;

  std::string_view line_;
  DigitTrace* outer_;
  std::vector<Reading> readings_;
  std::vector<std::uint16_t> places_;
  bool blind_ = false;
};

}  // namespace logarithm
