#include "agent/discover/time_zone.h"

#include <time.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxZoneFile = 256 << 10;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = (static_cast<unsigned char>(bytes[at]) & 0x80) != 0 ? ~0ull : 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return static_cast<std::int64_t>(value);
}

struct TzifHeader {
  std::size_t isutc, isstd, leap, times, types, chars;
  // Size of the data block whose times take `width` bytes each.
  std::size_t data_size(std::size_t width) const {
    return times * width + times + types * 6 + chars + leap * (width + 4) + isstd + isutc;
  }
};
constexpr std::size_t kTzifHeader = 44;

std::optional<TzifHeader> tzif_header(std::string_view bytes) {
  if (bytes.size() < kTzifHeader || !bytes.starts_with("TZif")) return std::nullopt;
  TzifHeader out{};
  std::size_t at = 20;
  for (std::size_t* field :
       {&out.isutc, &out.isstd, &out.leap, &out.times, &out.types, &out.chars}) {
    const std::int64_t count = big_endian(bytes, at, 4);
    if (count < 0 || count > static_cast<std::int64_t>(kMaxZoneFile)) return std::nullopt;
    *field = static_cast<std::size_t>(count);
    at += 4;
  }
  return out;
}

}  // namespace

std::optional<std::int32_t> parse_posix_zone(std::string_view text) {
  if (text.starts_with('<')) {
    const std::size_t close = text.find('>');
    if (close == std::string_view::npos) return std::nullopt;
    text.remove_prefix(close + 1);
  } else {
    std::size_t letters = 0;
    while (letters < text.size() && is_letter(text[letters])) ++letters;
    if (letters < 3) return std::nullopt;
    text.remove_prefix(letters);
  }
  // POSIX counts westwards.
  std::int32_t sign = -1;
  if (text.starts_with('-') || text.starts_with('+')) {
    if (text.front() == '-') sign = 1;
    text.remove_prefix(1);
  }
  const auto number = [&]() -> std::optional<std::int32_t> {
    std::int32_t value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && digits < 3 && is_digit(text[digits])) {
      value = value * 10 + (text[digits++] - '0');
    }
    text.remove_prefix(digits);
    if (digits == 0) return std::nullopt;
    return value;
  };
  const auto hours = number();
  if (!hours || *hours > 24) return std::nullopt;
  std::int32_t minutes = *hours * 60;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const auto more = number();
    if (!more || *more > 59) return std::nullopt;
    minutes += *more;
  }
  if (text.starts_with(":00")) text.remove_prefix(3);
  if (!text.empty()) return std::nullopt;
  return sign * minutes;
}

std::optional<std::int32_t> tzif_offset(std::string_view bytes, std::int64_t at_seconds) {
  auto header = tzif_header(bytes);
  if (!header) return std::nullopt;
  std::size_t width = 4;
  const char version = bytes[4];
  if (version >= '2') {
    const std::size_t skip = kTzifHeader + header->data_size(4);
    if (skip > bytes.size()) return std::nullopt;
    bytes.remove_prefix(skip);
    header = tzif_header(bytes);
    if (!header) return std::nullopt;
    width = 8;
  }
  bytes.remove_prefix(kTzifHeader);
  if (header->data_size(width) > bytes.size() || header->types == 0) return std::nullopt;
  const std::size_t indices = header->times * width;
  const std::size_t types = indices + header->times;

  std::size_t later = 0;  // transitions that have happened
  while (later < header->times && big_endian(bytes, later * width, width) <= at_seconds) ++later;
  if (later == header->times && width == 8) {
    // Past the table the footer rules, and it may hold daylight saving time.
    std::string_view footer = bytes.substr(header->data_size(width));
    if (footer.starts_with('\n')) footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    if (!footer.empty()) {
      const auto minutes = parse_posix_zone(footer);
      if (!minutes) return std::nullopt;
      return *minutes * 60;
    }
  }
  std::size_t type = 0;
  if (later > 0) type = static_cast<unsigned char>(bytes[indices + later - 1]);
  if (type >= header->types) return std::nullopt;
  return static_cast<std::int32_t>(big_endian(bytes, types + type * 6, 4));
}

namespace {

// Blocks.
std::optional<std::int32_t> offset_at(const std::optional<std::string>& tz, UnixNanos at,
                                      const std::string& zoneinfo) {
  const std::int64_t seconds = at / 1'000'000'000;
  if (!tz || *tz == ":/etc/localtime" || *tz == "/etc/localtime") {
    tm local{};
    const time_t when = seconds;
    if (::localtime_r(&when, &local) == nullptr) return std::nullopt;
    return static_cast<std::int32_t>(local.tm_gmtoff / 60);
  }
  std::string_view name = *tz;
  if (name.starts_with(':')) name.remove_prefix(1);
  if (name.empty() || name == "UTC" || name == "GMT" || name == "Z") return 0;
  if (const auto minutes = parse_posix_zone(name)) return minutes;
  if (name.find("..") != std::string_view::npos) return std::nullopt;
  std::string path(name);
  if (!path.starts_with('/')) {
    path = zoneinfo + "/" + path;
  } else if (!path.starts_with(zoneinfo + "/")) {
    return std::nullopt;  // the job's own file: not worth the trust
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes(kMaxZoneFile, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  const auto offset = tzif_offset(bytes, seconds);
  if (!offset) return std::nullopt;
  return *offset / 60;
}

}  // namespace

std::optional<std::int32_t> utc_offset_minutes(BlockingToken&, const std::optional<std::string>& tz,
                                               UnixNanos at, const std::string& zoneinfo) {
  return offset_at(tz, at, zoneinfo);
}

std::optional<std::string> time_zone_problem(const std::string& tz, UnixNanos at,
                                             const std::string& zoneinfo) {
  if (offset_at(tz, at, zoneinfo)) return std::nullopt;
  return "unknown time zone " + tz + ": write a name of " + zoneinfo +
         " (Asia/Tokyo), UTC, or a POSIX zone without daylight saving (JST-9)";
}

}  // namespace logarithm::agent
