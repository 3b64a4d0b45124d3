#include "aggregator/query/own_measure.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

bool is_ascii_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
// All others separate the words of a name.
bool is_plain(char c) { return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == kSlot; }

bool is_time_unit(std::string_view unit) {
  static constexpr std::string_view kUnits[] = {
      "ns",   "us",     "\u00b5s",      "\u03bcs",      "ms",          "s",      "sec",
      "secs", "second", "seconds",      "msec",         "msecs",       "usec",   "usecs",
      "min",  "mins",   "minute",       "minutes",      "h",           "hr",     "hrs",
      "hour", "hours",  "milliseconds", "microseconds", "nanoseconds", "millis", "micros"};
  return std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
}

// How much of `text` is the name `key`, in which anything but letters and digits became "_".
std::optional<std::size_t> name_at(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < key.size();) {
    if (at == text.size()) return std::nullopt;
    if (is_plain(key[i])) {
      if (lower(text[at++]) != lower(key[i++])) return std::nullopt;
      continue;
    }
    if (is_plain(text[at])) return std::nullopt;
    while (at < text.size() && !is_plain(text[at])) ++at;
    while (i < key.size() && !is_plain(key[i])) ++i;
  }
  return at;
}

std::string_view skip(std::string_view text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  return text;
}

}  // namespace

bool is_own_measure(std::string_view name) {
  static constexpr std::string_view kParts[] = {
      "time",  "elapsed", "duration", "latency", "_ready_in", "memory",  "throughput",
      "tflop", "gflop",   "per_s",    "alloc",   "reserved",  "seconds", "bandwidth"};
  static constexpr std::string_view kWords[] = {
      "ms",   "s",   "sec",  "secs",  "ns",   "us",     "msec", "usec",  "took",
      "mfu",  "tps", "tgs",  "speed", "mem",  "gpu",    "util", "power", "temp",
      "rank", "pid", "port", "eta",   "host", "device", "cuda", "local", "worker"};
  const std::string key = "_" + lower(name);
  for (const std::string_view part : kParts) {
    if (key.find(part) != std::string::npos) return true;
  }
  for (std::size_t from = 0; from < key.size();) {
    const std::size_t to = std::min(key.find_first_of("_./- ", from), key.size());
    const std::string_view word = std::string_view(key).substr(from, to - from);
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
    from = to + 1;
  }
  return false;
}

bool is_own_unit(std::string_view text) {
  const std::string unit = lower(text);
  if (is_time_unit(unit)) return true;
  for (const std::string_view flops : {"flop", "kflop", "mflop", "gflop", "tflop", "pflop"}) {
    if (unit.starts_with(flops)) return true;
  }
  for (const std::string_view per : {"/", " per "}) {
    const std::size_t at = unit.find(per);
    if (at == std::string::npos) continue;
    const std::string_view parts = unit;
    return is_time_unit(parts.substr(0, at)) || is_time_unit(parts.substr(at + per.size()));
  }
  return false;
}

std::string_view unit_of(std::string_view behind) {
  const auto word_from = [&](std::size_t at) {
    const auto is_part = [](char c) {
      return is_ascii_letter(c) || c == '/' || c == '_' || c == '-' ||
             static_cast<unsigned char>(c) >= 0x80;
    };
    while (at < behind.size() && is_part(behind[at])) ++at;
    return at;
  };
  if (behind.starts_with(' ')) behind.remove_prefix(1);
  const std::size_t end = word_from(0);
  constexpr std::string_view kPer = " per ";
  if (end > 0 && behind.substr(end).starts_with(kPer)) {
    return behind.substr(0, word_from(end + kPer.size()));
  }
  return behind.substr(0, end);
}

std::vector<std::string_view> units_behind(std::string_view text, std::string_view key) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size() && !key.empty(); ++at) {
    if (at > 0 && is_plain(text[at]) && is_plain(text[at - 1])) continue;
    const auto size = name_at(text.substr(at), key);
    if (!size) continue;
    std::string_view behind = skip(text.substr(at + *size), " :=)");
    if (!behind.starts_with(kSlot)) continue;
    behind.remove_prefix(1);
    const std::string_view unit = unit_of(behind);
    if (unit.empty()) continue;
    behind.remove_prefix(static_cast<std::size_t>(unit.data() - behind.data()) + unit.size());
    if (!skip(behind, " :=").starts_with(kSlot)) out.push_back(unit);
  }
  return out;
}

}  // namespace logarithm::aggregator
