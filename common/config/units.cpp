#include "common/config/units.h"

#include <array>
#include <charconv>
#include <limits>

namespace logarithm::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// From large to small: the formatters take the first that fits.
constexpr std::array<Unit, 7> kDurations{{{"d", 86'400'000'000'000},
                                          {"h", 3'600'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000},
                                          {"us", 1'000},
                                          {"ns", 1}}};
constexpr std::array<Unit, 5> kSizes{
    {{"TiB", 1ull << 40}, {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"B", 1}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes "<digits><letters>" off the front of `text`.
bool take(std::string_view& text, std::uint64_t& number, std::string_view& unit) {
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  std::size_t length = 0;
  while (length < text.size() && !is_digit(text[length])) ++length;
  unit = text.substr(0, length);
  text.remove_prefix(length);
  return true;
}

template <typename Units>
const Unit* find_unit(const Units& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const Error wrong(ErrorCode::invalid, "'" + std::string(text) +
                                            "' is not a duration: write a whole number and a unit "
                                            "(ns, us, ms, s, m, h, d), as in 10s or 1h30m");
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return wrong;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t total = 0;
  while (!text.empty()) {
    std::uint64_t number = 0;
    std::string_view name;
    if (!take(text, number, name)) return wrong;
    const Unit* unit = find_unit(kDurations, name);
    if (unit == nullptr || number > (kMost - total) / unit->factor) return wrong;
    total += number * unit->factor;
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}

std::string format_duration(std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return "0";
  auto rest = static_cast<std::uint64_t>(duration.count());
  std::string out;
  for (const Unit& unit : kDurations) {
    if (rest < unit.factor) continue;
    out += std::to_string(rest / unit.factor);
    out += unit.name;
    rest %= unit.factor;
  }
  return out;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error wrong(ErrorCode::invalid, "'" + std::string(text) +
                                            "' is not a size: write a whole number of B, KiB, MiB, "
                                            "GiB or TiB, as in 64MiB");
  std::string_view rest = text;
  std::uint64_t number = 0;
  std::string_view name;
  if (!take(rest, number, name) || !rest.empty()) return wrong;
  if (name.empty()) return number;
  const Unit* unit = find_unit(kSizes, name);
  if (unit == nullptr || number > std::numeric_limits<std::uint64_t>::max() / unit->factor) {
    return wrong;
  }
  return number * unit->factor;
}

std::string format_size(std::uint64_t bytes) {
  for (const Unit& unit : kSizes) {
    if (bytes >= unit.factor && bytes % unit.factor == 0) {
      return std::to_string(bytes / unit.factor) + std::string(unit.name);
    }
  }
  return "0B";
}

std::string yaml_quote(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace logarithm::config
