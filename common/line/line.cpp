#include "common/line/line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "common/line/ansi.h"
#include "common/line/transport.h"

namespace logarithm {
namespace {

struct Word {
  std::string_view name;
  Severity severity;
};

constexpr std::array kWords{
    Word{"trace", Severity::trace},     Word{"t", Severity::trace},
    Word{"debug", Severity::debug},     Word{"d", Severity::debug},
    Word{"v", Severity::debug},         Word{"verbose", Severity::debug},
    Word{"info", Severity::info},       Word{"i", Severity::info},
    Word{"notice", Severity::info},     Word{"success", Severity::info},
    Word{"warning", Severity::warning}, Word{"warn", Severity::warning},
    Word{"w", Severity::warning},       Word{"error", Severity::error},
    Word{"err", Severity::error},       Word{"e", Severity::error},
    Word{"severe", Severity::error},    Word{"fatal", Severity::fatal},
    Word{"f", Severity::fatal},         Word{"critical", Severity::fatal},
    Word{"crit", Severity::fatal},      Word{"c", Severity::fatal},
    Word{"alert", Severity::fatal},     Word{"emerg", Severity::fatal},
    Word{"emergency", Severity::fatal}, Word{"panic", Severity::fatal},
};

std::string from(const Line& line, std::uint32_t position) {
  if (line.transport == transport::plain && !line.has(line_flag::ansi)) {
    return line.raw.substr(std::min<std::size_t>(position, line.raw.size()));
  }
  std::string text = plain_of(line);
  text.erase(0, position);
  return text;
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::unset: return "";
    case Severity::trace: return "trace";
    case Severity::debug: return "debug";
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
    case Severity::fatal: return "fatal";
  }
  return "";
}

std::optional<Severity> parse_severity(std::string_view word) {
  if (word.empty() || word.size() > 9) return std::nullopt;
  char lower[9];
  std::transform(word.begin(), word.end(), lower, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  const std::string_view key(lower, word.size());
  for (const Word& known : kWords) {
    if (known.name == key) return known.severity;
  }
  return std::nullopt;
}

std::string_view bytes_of(Terminator terminator) {
  switch (terminator) {
    case Terminator::none: return "";
    case Terminator::lf: return "\n";
    case Terminator::crlf: return "\r\n";
    case Terminator::cr: return "\r";
  }
  return "";
}

std::string plain_of(const Line& line) {
  std::string text = line.transport == transport::plain
                         ? line.raw
                         : decode_transport(line.raw, line.transport, line.extents);
  return line.has(line_flag::ansi) ? strip_ansi(text) : text;
}
std::string text_of(const Line& line) { return from(line, line.text_begin); }
std::string body_of(const Line& line) { return from(line, line.body_begin); }

}  // namespace logarithm
