#include <algorithm>

#include "common/line/digit_trace.h"
#include "common/line/wrappers/cursor.h"
#include "common/line/wrappers/layer.h"

namespace logarithm::wrappers {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view kDays = "MonTueWedThuFriSatSun";

// Which of the three-letter `names` stands at `at`, from 1; 0 when none does.
unsigned three_letters(std::string_view names, std::string_view text, std::size_t at) {
  if (text.size() < 3 || at > text.size() - 3) return 0;
  for (std::size_t i = 0; i < names.size(); i += 3) {
    if (text.compare(at, 3, names, i, 3) == 0) return static_cast<unsigned>(i / 3 + 1);
  }
  return 0;
}

bool month_stamp_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  Cursor in{text, at};
  time.month = three_letters(kMonths, text, at);
  if (time.month == 0) return false;
  in.at += 3;
  if (!in.take(' ')) return false;
  in.take(' ');
  const auto day = in.number(2);
  if (!day || *day < 1 || *day > 31 || !in.take(' ')) return false;
  time.day = static_cast<unsigned>(*day);
  if (!read_clock(text, in.at, time)) return false;
  at = in.at;
  return true;
}

bool weekday_stamp_at(std::string_view text, std::size_t& at, PrintedTime& time) {
  if (three_letters(kDays, text, at) == 0) return false;
  Cursor in{text, at + 3};
  if (!in.take(' ') || !month_stamp_at(text, in.at, time) || !in.take(' ')) return false;
  const auto year = in.number(4);
  if (!year || *year < 1971 || *year > 2200) return false;
  time.year = *year;
  at = in.at;
  return is_date(time);
}

}  // namespace

bool read_month_stamp(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::month_stamp, text, at, time, month_stamp_at);
}
bool read_weekday_stamp(std::string_view text, std::size_t& at, PrintedTime& time) {
  return DigitTrace::follow(TimeProbe::Reader::weekday_stamp, text, at, time, weekday_stamp_at);
}

std::string_view read_host(std::string_view text, std::size_t& at) {
  Cursor in{text, at};
  const auto host = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; }, 255);
  if (host.empty() || host[0] == '-' || host[0] == '.') return {};
  if (host.size() > 1 && parse_severity(host)) return {};
  at = in.at;
  return host;
}

}  // namespace logarithm::wrappers
