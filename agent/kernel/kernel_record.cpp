#include "agent/kernel/kernel_record.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace logarithm::agent {
namespace {

constexpr std::size_t kMostFacts = 16;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The kernel escapes what is not printable; a control character would end the line.
std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      const int high = hex_digit(text[i + 2]), low = hex_digit(text[i + 3]);
      const int value = high * 16 + low;
      if (high >= 0 && low >= 0 && (value >= 0x80 || value == '\\')) {
        out.push_back(static_cast<char>(value));
        i += 3;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

template <typename Number>
bool take_number(std::string_view& rest, Number& out) {
  const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
  if (wrong != std::errc{} || end == rest.data()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool take_comma(std::string_view& rest) {
  if (rest.empty() || rest.front() != ',') return false;
  rest.remove_prefix(1);
  return true;
}

void add_fact(std::string_view line, KernelRecord& out) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals < 2) return;
  std::string key(line.substr(1, equals - 1));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  out.facts.emplace_back(std::move(key), unescape(line.substr(equals + 1)));
}

}  // namespace

Result<KernelRecord> parse_kernel_record(std::string_view bytes) {
  const auto bad = [] { return Error(ErrorCode::invalid, "no record of the kernel's log"); };
  const std::size_t body = bytes.find(';');
  if (body == std::string_view::npos) return bad();
  std::string_view prefix = bytes.substr(0, body);
  std::string_view rest = bytes.substr(body + 1);
  KernelRecord out;
  unsigned priority = 0;
  if (!take_number(prefix, priority) || !take_comma(prefix)) return bad();
  if (!take_number(prefix, out.sequence) || !take_comma(prefix)) return bad();
  if (!take_number(prefix, out.micros) || !take_comma(prefix)) return bad();
  // Beyond some centuries it is no stamp, and would overflow as nanoseconds.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  if (out.micros > kMost || out.sequence > (std::uint64_t{1} << 62)) return bad();
  out.level = priority & 7u;
  out.facility = priority >> 3u;
  out.fragment = !prefix.empty() && prefix.front() == '+';

  std::size_t end = std::min(rest.find('\n'), rest.size());
  out.message = unescape(rest.substr(0, end));
  while (end < rest.size() && out.facts.size() < kMostFacts) {
    rest.remove_prefix(end + 1);
    end = std::min(rest.find('\n'), rest.size());
    if (rest.empty() || rest.front() != ' ') break;
    add_fact(rest.substr(0, end), out);
  }
  return out;
}

std::string facility_name(unsigned facility) {
  static constexpr std::array<std::string_view, 12> kNames{"kern", "user",   "mail",     "daemon",
                                                           "auth", "syslog", "lpr",      "news",
                                                           "uucp", "cron",   "authpriv", "ftp"};
  if (facility < kNames.size()) return std::string(kNames[facility]);
  return std::to_string(facility);
}

}  // namespace logarithm::agent
