#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/line/line.h"

namespace logarithm {

enum class FieldType { integer, floating, string, int_thousands };

// "int", "float", "string", "int_thousands".
std::optional<FieldType> parse_field_type(std::string_view word);

// The captured text as a value of `type`. A text that is no such number (or over 64 bits) is kept
// as a string: a rule's mistake must not hide what was there.
MetaValue field_value(FieldType type, std::string_view text);

// Decimal, exponents, and nan / inf / infinity in any case with a sign.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text, bool thousands = false);

// "lm loss" -> "lm_loss", "critic/rewards/mean" -> "critic_rewards_mean": lower case, runs of other
// bytes become one '_', none at the ends; at most 64 bytes.
std::string metric_name(std::string_view text);

}  // namespace logarithm
