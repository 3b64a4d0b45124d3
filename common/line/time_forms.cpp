#include <algorithm>
#include <array>
#include <string>

#include "common/line/digit_trace.h"
#include "common/line/log_time.h"

// The forms of a time that loggers print; README.md, "Times", lists them.
namespace logarithm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

struct Reader {
  std::string_view s;
  std::size_t at = 0;
  PrintedTime time;
  bool form_only = false;  // the values of a clock do not matter

  char peek(std::size_t ahead = 0) const { return at + ahead < s.size() ? s[at + ahead] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at;
    return true;
  }
  bool take_any(std::string_view chars) {
    if (at >= s.size()) return false;
    for (char c : chars) {
      if (c == s[at]) return ++at, true;
    }
    return false;
  }
  std::size_t run() const {
    std::size_t n = 0;
    while (is_digit(peek(n))) ++n;
    return n;
  }
  bool digits(unsigned count, unsigned& value) { return read_digits(s, at, count, value); }

  bool clock() {
    if (form_only) return read_clock_form(s, at, time) && rest_of_clock();
    if (!read_clock(s, at, time)) {
      // 5:06:07 AM
      if (!is_digit(peek()) || peek(1) != ':') return false;
      const std::string padded = "0" + std::string(s.substr(at, 7));
      std::size_t end = 0;
      if (!read_clock(padded, end, time)) return false;
      at += end - 1;
    }
    return rest_of_clock();
  }
  bool rest_of_clock() {
    const char next = peek();
    if (next == '.' || next == ':') parts_of_second(next);
    half_of_day();
    return true;
  }
  // Milliseconds behind a colon, microseconds behind the milliseconds: 05:06:07:448,
  // 05:06:07.448.120 (MindSpore, CANN).
  void parts_of_second(char separator) {
    const bool whole = at >= 3 && s[at - 3] == ':';
    if (whole != (separator == ':')) return;
    if (!whole && (at < 4 || s[at - 4] != '.')) return;
    std::size_t i = at + 1;
    unsigned part = 0;
    if (!read_digits(s, i, 3, part)) return;
    if (i < s.size() && (is_digit(s[i]) || s[i] == '.' || s[i] == ':' || is_letter(s[i]))) return;
    time.nanos += std::int64_t{part} * (whole ? kSecond / 1'000 : kSecond / 1'000'000);
    at = i;
  }
  void half_of_day() {
    const std::size_t blank = peek() == ' ' ? 1u : 0u;
    const char half = peek(blank);
    if ((half != 'A' && half != 'P') || peek(blank + 1) != 'M' || time.hour > 12) return;
    time.hour = time.hour % 12 + (half == 'P' ? 12u : 0u);
    at += blank + 2;
  }
  bool zone() {
    read_zone(s, at, time);
    return true;
  }

  bool year4() {
    unsigned year = 0;
    if (!digits(4, year)) return false;
    time.year = static_cast<int>(year);
    return true;
  }
  bool month_name() {
    static constexpr std::array<std::string_view, 12> kNames{
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto word = s.substr(at, 3);
    const auto name = std::find(kNames.begin(), kNames.end(), word);
    if (name == kNames.end()) return false;
    time.month = static_cast<unsigned>(name - kNames.begin()) + 1;
    at += 3;
    if (is_lower(peek())) return rest_of_month();
    take('.');
    return true;
  }
  // … of a name that is written out.
  bool rest_of_month() {
    static constexpr std::array<std::string_view, 12> kRests{
        "uary", "ruary", "ch", "il", "", "e", "y", "ust", "tember", "ober", "ember", "ember"};
    const auto rest = kRests[time.month - 1];
    if (rest.empty() || s.substr(at, rest.size()) != rest) return false;
    at += rest.size();
    return true;
  }
  bool one_or_two(unsigned& value) { return digits(is_digit(peek(1)) ? 2 : 1, value); }
  bool day_1_or_2() { return one_or_two(time.day); }
  bool year_2_or_4() {
    unsigned year = 0;
    if (run() == 4) return year4();
    if (run() != 2 || !digits(2, year)) return false;
    time.year = 2000 + static_cast<int>(year);
    return true;
  }
  // What stands between a date and its clock.
  bool between() {
    if (take(',')) return take(' ') || is_digit(peek());
    return take_any(" T_-:");
  }

  // 2026-03-04 05:06:07     2026-03-04, 05:06:07 UTC
  // 2026-03-04-05:06:07     2026-Mar-04 05:06:07        2026:03:04-05:06:07
  bool year_first() {
    if (!read_date(s, at, time) && !year_and_name() && !colon_date()) return false;
    return between() && clock() && zone();
  }
  bool year_and_name() {
    const char separator = peek(4);
    if (!is_letter(peek(5)) || !year4() || !take_any("-/ ") || !month_name()) return false;
    return take(separator) && day_1_or_2();
  }
  bool colon_date() {
    if (peek(4) != ':' || peek(7) != ':' || peek(10) != '-' || !year4()) return false;
    return take(':') && digits(2, time.month) && take(':') && digits(2, time.day);
  }
  // 20260304 05:06:07       20260304T050607Z        260304 05:06:07
  bool compact(std::size_t run) {
    unsigned year = 0;
    if (run == 8 ? !year4() : !digits(2, year)) return false;
    if (run == 6) time.year = 2000 + static_cast<int>(year);
    if (!digits(2, time.month) || !digits(2, time.day) || !take_any(" T-_")) return false;
    if (clock()) return zone();
    return digits(2, time.hour) && digits(2, time.minute) && digits(2, time.second) &&
           time.hour < 24 && time.minute < 60 && time.second <= 60 && !is_digit(peek()) && zone();
  }
  // 03/04 05:06:07    03-04 05:06:07    03/04/2026 05:06:07    26/03/04 05:06:07
  // 04/Mar/2026:05:06:07 +0000    04-Mar-2026 05:06:07    04 Mar 2026 05:06:07    04-Mar-26 …
  bool two_first() {
    const std::size_t begin = at;
    unsigned a = 0, b = 0, c = 0;
    if (!one_or_two(a)) return false;
    const char separator = peek();
    if (!take_any("/-. ")) return false;
    if (month_name()) {
      time.day = a;
      if (!take(separator)) return false;
      if (run() == 2 && peek(2) == ':') return clock() && zone();  // no year
      return year_2_or_4() && between() && clock() && zone();
    }
    if (separator == ' ' || !one_or_two(b)) return false;
    if (peek() != separator) {
      if (separator == '.' || at - begin < 5) return false;  // 5/9 00:12:34 counts something
      set_month_day(a, b);
      return between() && clock() && zone();
    }
    ++at;
    if (run() == 4) {
      set_month_day(a, b);
      return year4() && between() && clock() && zone();
    }
    if (!digits(2, c)) return false;
    if (a > 12 && b <= 12 && c <= 31) {  // Spark: the year first
      time.month = b;
      time.day = c;
      c = a;
    } else {
      set_month_day(a, b);
    }
    time.year = 2000 + static_cast<int>(c);
    return between() && clock() && zone();
  }
  // Month first, as loggers that print no year do, unless the calendar knows better.
  void set_month_day(unsigned a, unsigned b) {
    time.month = a;
    time.day = b;
    if (a > 12) std::swap(time.month, time.day);
    if (time.month == 0) time.month = 13;  // no date, rather than none printed
  }
  // Mar  4 05:06:07     Mar 04 2026 05:06:07     Mar 4, 2026 5:06:07 AM     Mar-04-2026 05:06:07
  bool month_first() {
    if (!month_name()) return false;
    if (const char separator = peek(); separator == '-' || separator == '/') {
      ++at;
      return day_1_or_2() && take(separator) && year4() && between() && clock() && zone();
    }
    if (!take(' ')) return false;
    take(' ');
    if (!day_1_or_2()) return false;
    take(',');
    if (!take(' ')) return false;
    if (run() == 4 && (!year4() || !between())) return false;
    return clock() && zone();
  }
  // Wed Mar  4 05:06:07 2026     Wed Mar  4 05:06:07 UTC 2026     Wed, 04 Mar 2026 05:06:07 GMT
  bool weekday_first() {
    static constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu",
                                                           "Fri", "Sat", "Sun"};
    if (std::find(kDays.begin(), kDays.end(), s.substr(at, 3)) == kDays.end()) return false;
    at += 3;
    if (is_lower(peek())) {  // Wednesday
      const std::size_t end = s.find("day", at);
      if (end == std::string_view::npos || end > at + 3) return false;
      at = end + 3;
    }
    take(',');
    if (!take(' ')) return false;
    if (is_digit(peek())) return two_first();
    if (!month_first()) return false;
    if (!time.year && peek() == ' ' && is_digit(peek(1)) && is_digit(peek(4)) &&
        !is_digit(peek(5))) {
      ++at;
      return year4();
    }
    return true;
  }

  // 3/4/2026 5:06:07 AM     4 Mar 2026 05:06:07
  bool clock_or_day() {
    const char next = peek(1);
    return (next == '/' || next == '-' || next == ' ') && two_first();
  }

  // zap: 1.7725011725e+09, seconds since 1970. Six digits at least, as all forms without colons.
  bool scientific() {
    const std::size_t begin = at;
    at += 2;
    const std::size_t size = run();
    std::string digits(1, s[begin]);
    digits.append(s.substr(at, std::min<std::size_t>(size, 18)));
    at += size;
    if (size < 6 || s.substr(at, 4) != "e+09" || is_digit(peek(4))) return false;
    at += 4;
    if (digits.size() < 10) digits.resize(10, '0');
    if (digits.size() > 10) digits.insert(10, 1, '.');
    std::size_t end = 0;
    return read_epoch(digits, end, time) && end == digits.size();
  }

  bool any() {
    const char c = peek();
    if (!is_digit(c)) {
      if (c < 'A' || c > 'W' || peek(1) < 'a') return false;
      const std::size_t begin = at;
      if (month_first()) return true;
      at = begin;
      return weekday_first();
    }
    switch (const std::size_t digits_here = run()) {
      case 4: return year_first();
      case 1: return peek(1) == '.' ? scientific() : clock_or_day();
      case 2: return peek(2) == ':' ? clock() && zone() : two_first();
      case 6:
      case 8: return compact(digits_here);
      default: return read_epoch(s, at, time);
    }
  }
};

}  // namespace

namespace {

bool epoch_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  std::size_t i = at;
  std::uint64_t read = 0;  // 19 digits fit, whatever they are
  for (; i < text.size() && is_digit(text[i]) && i - at < 19; ++i) {
    read = read * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  const std::size_t size = i - at;
  if (i < text.size() && is_digit(text[i])) return false;
  std::int64_t unit = 1;
  switch (size) {
    case 10: unit = kSecond; break;
    case 13: unit = kSecond / 1'000; break;
    case 16: unit = kSecond / 1'000'000; break;
    case 19: break;
    default: return false;
  }
  // 10 digits from 2001-09-09 to 2100.
  const auto per_second = static_cast<std::uint64_t>(kSecond / unit);
  if (text[at] == '0' || read / per_second >= 4'102'444'800) return false;
  std::int64_t value = static_cast<std::int64_t>(read) * unit;
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    for (++i; i < text.size() && is_digit(text[i]); ++i) {
      unit /= 10;
      value += unit * (text[i] - '0');
    }
  }
  time = PrintedTime();
  time.instant = value;
  at = i;
  return true;
}

// What was read is one: a day that there is, or none.
bool is_possible(const PrintedTime& time) {
  return is_date(time) && (time.has_date() || (!time.year && time.day == 0));
}

bool time_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  Reader reader;
  reader.s = text;
  reader.at = at;
  if (!reader.any() || !is_possible(reader.time)) return false;
  at = reader.at;
  time = reader.time;
  return true;
}

// A date or a clock that is none. Without colons two numbers count things more often, and so do six
// digits in front of a clock.
bool impossible_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  if (text.substr(at, 40).find(':') == std::string_view::npos) return false;
  Reader reader;
  reader.s = text;
  reader.at = at;
  reader.form_only = true;
  if (is_digit(reader.peek()) && reader.run() == 6) return false;
  if (!reader.any() || reader.time.instant) return false;
  if (is_possible(reader.time) && is_clock(reader.time)) return false;
  if (text.substr(at, reader.at - at).find(':') == std::string_view::npos) return false;
  at = reader.at;
  time = PrintedTime();
  time.impossible = true;
  return true;
}

bool form_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  return time_at(text, at, time) || impossible_at(text, at, time);
}

}  // namespace

bool read_epoch(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::epoch, text, at, time, epoch_at);
}
bool read_time(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::time, text, at, time, time_at);
}
bool read_time_form(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::form, text, at, time, form_at);
}

}  // namespace logarithm
