#include "common/line/digit_trace.h"

#include <algorithm>

#include "common/line/header_lexer.h"
#include "common/line/wrappers/layer.h"

namespace logarithm {
namespace {

using Reader = TimeProbe::Reader;

constexpr std::uint8_t kHasNanos = 8;

// What readers ask a time for, beside its value.
std::uint8_t traits_of(const PrintedTime& time) {
  unsigned traits = 1;
  if (time.has_date()) traits |= 2;
  if (is_date(time)) traits |= 4;
  if (time.nanos != 0) traits |= kHasNanos;
  if (time.instant) traits |= 16;
  if (time.year) traits |= 32;
  if (time.utc_offset_minutes) traits |= 64;
  if (time.impossible) traits |= 128;
  return static_cast<std::uint8_t>(traits);
}

bool read_as(Reader reader, std::string_view text, std::size_t& at, PrintedTime& time) {
  switch (reader) {
    case Reader::time: return read_time(text, at, time);
    case Reader::form: return read_time_form(text, at, time);
    case Reader::clock: return read_clock(text, at, time);
    case Reader::date: return read_date(text, at, time);
    case Reader::iso: return read_iso(text, at, time);
    case Reader::epoch: return read_epoch(text, at, time);
    case Reader::stamp: return header::HeaderLexer::read_stamp(text, at, false, time);
    case Reader::short_stamp: return header::HeaderLexer::read_stamp(text, at, true, time);
    case Reader::month_stamp: return wrappers::read_month_stamp(text, at, time);
    case Reader::weekday_stamp: return wrappers::read_weekday_stamp(text, at, time);
  }
  return false;
}

unsigned two_digits(const char* at) {
  return static_cast<unsigned>(at[0] - '0') * 10 + static_cast<unsigned>(at[1] - '0');
}

// A plain time from `at` to `end`, of the form that was found there. False where its values are not
// usual: then the reader decides.
bool read_plain(const char* at, const char* end, PrintedTime& time) {
  const unsigned year = two_digits(at) * 100 + two_digits(at + 2);
  time.month = two_digits(at + 5);
  time.day = two_digits(at + 8);
  time.hour = two_digits(at + 11);
  time.minute = two_digits(at + 14);
  time.second = two_digits(at + 17);
  if (time.month - 1 > 11 || time.day - 1 > 27 || time.hour > 23 || time.minute > 59 ||
      time.second > 59) {
    return false;
  }
  time.year = static_cast<int>(year);
  std::int64_t unit = 100'000'000;
  for (at += 20; at < end; ++at, unit /= 10) time.nanos += unit * (*at - '0');
  return true;
}

// Whether what was found from `at` to `end` is one. What stands behind it must be no zone and no
// half of a day, whatever their digits and the hour are.
bool is_plain(std::string_view text, std::size_t at, std::size_t end) {
  constexpr std::string_view kForm = "1111-11-11 11:11:11", kBehind = "+-AP.:";
  if (end < at + kForm.size() || end > at + kForm.size() + 10) return false;
  for (std::size_t i = at; i < end; ++i) {
    const char wanted = i - at < kForm.size() ? kForm[i - at] : i - at == kForm.size() ? '.' : '1';
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    const bool fits = wanted == '1'   ? digit
                      : wanted == '-' ? c == '-' || c == '/'
                      : wanted == ' ' ? c == ' ' || c == 'T' || c == '_'
                      : wanted == '.' ? c == '.' || c == ','
                                      : c == wanted;
    if (!fits) return false;
  }
  if (text[at + 4] != text[at + 7]) return false;
  if (end < text.size() && text[end] == ' ') ++end;
  return end == text.size() || kBehind.find(text[end]) == std::string_view::npos;
}

}  // namespace

constinit thread_local DigitTrace* DigitTrace::current_ = nullptr;

bool TimeProbe::holds(std::string_view line, PrintedTime& time) const {
  if (plain) {
    PrintedTime found;
    const char* const text = line.data() + begin;
    if (read_plain(text + at, text + end, found)) {
      time = found;
      return (found.nanos != 0) == ((traits & kHasNanos) != 0);
    }
  }
  std::size_t place = at;
  PrintedTime found;
  if (!read_as(reader, line.substr(begin, size), place, found)) return traits == 0;
  if (place != end || traits_of(found) != traits) return false;
  time = found;
  return true;
}

DigitTrace::DigitTrace(std::string_view line)
    : line_(line), outer_(std::exchange(current_, this)), blind_(line.size() > 0xFFFF) {}

DigitTrace::~DigitTrace() { current_ = outer_; }

bool DigitTrace::inside(std::string_view text) const {
  return text.data() >= line_.data() && text.data() + text.size() <= line_.data() + line_.size();
}

void DigitTrace::note(Reader reader, std::string_view text, std::size_t from, std::size_t end,
                      const PrintedTime* found) {
  if (!inside(text) || blind_) {
    blind_ = true;
    return;
  }
  Reading reading;
  TimeProbe& probe = reading.probe;
  probe.reader = reader;
  probe.begin = static_cast<std::uint16_t>(text.data() - line_.data());
  probe.size = static_cast<std::uint16_t>(text.size());
  probe.at = static_cast<std::uint16_t>(from);
  if (found != nullptr) {
    probe.end = static_cast<std::uint16_t>(end);
    probe.traits = traits_of(*found);
    reading.time = *found;
    const bool dated = reader == Reader::time || reader == Reader::form || reader == Reader::iso;
    probe.plain =
        dated && found->year && !found->impossible && found->hour < 24 && is_plain(text, from, end);
  }
  const bool known = std::any_of(readings_.begin(), readings_.end(),
                                 [&](const Reading& other) { return other.probe == probe; });
  if (!known) readings_.push_back(reading);
}

void DigitTrace::note_places(std::string_view text) {
  if (!inside(text) || blind_) {
    blind_ = true;
    return;
  }
  for (const char& c : text) {
    if (c < '0' || c > '9') continue;
    const auto place = static_cast<std::uint16_t>(&c - line_.data());
    if (std::find(places_.begin(), places_.end(), place) == places_.end()) {
      places_.push_back(place);
    }
  }
}

}  // namespace logarithm
