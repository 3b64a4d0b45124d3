#include "aggregator/query/time_text.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

namespace logarithm::aggregator {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Unsigned digits only, as the fields of a calendar time are.
std::optional<int> field(std::string_view text, std::size_t at, std::size_t length) {
  if (at + length > text.size()) return std::nullopt;
  int value = 0;
  for (char c : text.substr(at, length)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

Error bad(std::string_view text) {
  return Error(ErrorCode::invalid, "not a time (RFC 3339, nanoseconds since 1970, or like -15m): " +
                                       std::string(text.substr(0, 64)));
}

std::optional<UnixNanos> unit(std::string_view name) {
  if (name == "ns") return 1;
  if (name == "us") return 1'000;
  if (name == "ms") return 1'000'000;
  if (name == "s") return kSecond;
  if (name == "m") return 60 * kSecond;
  if (name == "h") return 3600 * kSecond;
  if (name == "d") return 86400 * kSecond;
  if (name == "w") return 7 * 86400 * kSecond;
  return std::nullopt;
}

Result<UnixNanos> parse_relative(std::string_view text, UnixNanos now) {
  std::string_view rest = text.substr(1);
  UnixNanos total = 0;
  while (!rest.empty()) {
    std::size_t digits = rest.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return bad(text);
    std::size_t letters = rest.find_first_of("0123456789.", digits);
    if (letters == std::string_view::npos) letters = rest.size();
    auto amount = number<double>(rest.substr(0, digits));
    auto scale = unit(rest.substr(digits, letters - digits));
    if (!amount || !scale || *amount * static_cast<double>(*scale) > 9e18) return bad(text);
    const auto step = static_cast<UnixNanos>(*amount * static_cast<double>(*scale));
    if (__builtin_add_overflow(total, step, &total)) return bad(text);
    rest.remove_prefix(letters);
  }
  UnixNanos out = 0;
  if (__builtin_sub_overflow(now, total, &out)) return bad(text);
  return out;
}

}  // namespace

std::string to_rfc3339(UnixNanos time) {
  using namespace std::chrono;
  UnixNanos seconds_part = time / kSecond, nanos = time % kSecond;
  if (nanos < 0) {
    nanos += kSecond;
    --seconds_part;
  }
  const sys_seconds at{seconds(seconds_part)};
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss clock(at - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%09lldZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<long long>(nanos));
  return text;
}

Result<UnixNanos> parse_time(std::string_view text, UnixNanos now) {
  using namespace std::chrono;
  if (text == "now") return now;
  if (auto nanos = number<std::int64_t>(text)) return *nanos;
  if (text.size() >= 3 && text.front() == '-') return parse_relative(text, now);
  auto y = field(text, 0, 4), mo = field(text, 5, 2), d = field(text, 8, 2);
  auto h = field(text, 11, 2), mi = field(text, 14, 2), s = field(text, 17, 2);
  if (!y || !mo || !d || !h || !mi || !s) return bad(text);
  const char separator = text[10];
  if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':' ||
      (separator != 'T' && separator != 't' && separator != ' ')) {
    return bad(text);
  }
  const year_month_day date{year(*y), month(static_cast<unsigned>(*mo)),
                            std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok() || *h > 23 || *mi > 59 || *s > 60) return bad(text);
  std::int64_t whole =
      duration_cast<seconds>(sys_days(date).time_since_epoch()).count() + *h * 3600 + *mi * 60 + *s;
  std::size_t at = 19;
  UnixNanos nanos = 0;
  if (at < text.size() && text[at] == '.') {
    UnixNanos place = kSecond / 10;
    const std::size_t begin = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, place /= 10) {
      nanos += (text[at] - '0') * place;
    }
    if (at == begin) return bad(text);
  }
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    auto zh = field(zone, 1, 2), zm = field(zone, 4, 2);
    // A "+" that was not written %2B arrives as a blank.
    const bool east = zone.starts_with('+') || zone.starts_with(' ');
    if (zone.size() != 6 || (!east && zone[0] != '-') || zone[3] != ':' || !zh || !zm || *zh > 23 ||
        *zm > 59) {
      return bad(text);
    }
    const std::int64_t offset = *zh * 3600 + *zm * 60;
    whole += east ? -offset : offset;
  }
  UnixNanos out = 0;
  if (__builtin_mul_overflow(whole, kSecond, &out) || __builtin_add_overflow(out, nanos, &out)) {
    return bad(text);
  }
  return out;
}

}  // namespace logarithm::aggregator
