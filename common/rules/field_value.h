#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm {

enum class FieldType : unsigned char { integer, floating, string, int_thousands, time };

// "int", "float", "string", "int_thousands", "time".
std::optional<FieldType> parse_field_type(std::string_view word);

// The captured text as a value of `type` (a time is kept as its text). A text that is no such
// number (or over 64 bits) is kept as a string: a rule's mistake must not hide what was there.
MetaValue field_value(FieldType type, std::string_view text);
void set_field(MetaValue& to, FieldType type, std::string_view text);

// Decimal, exponents, and nan / inf / infinity in any case with a sign. What no double holds is
// infinity or 0.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text, bool thousands = false);
// 1 to 18 digits and nothing else: what nearly every whole number is.
inline std::optional<std::int64_t> plain_digits(std::string_view text) {
  constexpr std::size_t kMost = 18;
  if (text.empty() || text.size() > kMost) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// A time in any of the usual prints: ISO forms with ' ', 'T' or '_' before the clock, `Mar  4
// 05:06:07`, `Mar 04 2026 05:06:07`, `03/04 05:06:07`, seconds since the epoch. nullopt for others.
std::optional<PrintedTime> parse_time(std::string_view text);

// "lm loss" -> "lm_loss", "critic/rewards/mean" -> "critic_rewards_mean": lower case, runs of other
// bytes become one '_', none at the ends; at most 64 bytes.
std::string metric_name(std::string_view text);

}  // namespace logarithm
