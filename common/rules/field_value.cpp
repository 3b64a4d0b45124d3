#include "common/rules/field_value.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace logarithm {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(text[i]) != word[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<FieldType> parse_field_type(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, FieldType>, 4> kTypes{{
      {"int", FieldType::integer},
      {"float", FieldType::floating},
      {"string", FieldType::string},
      {"int_thousands", FieldType::int_thousands},
  }};
  for (const auto& [name, type] : kTypes) {
    if (name == word) return type;
  }
  return std::nullopt;
}

std::optional<double> parse_double(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  double value = 0;
  if (same_word(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (same_word(text, "inf") || same_word(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    // from_chars would also take "nan(…)" and a second sign.
    if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end) return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_int(std::string_view text, bool thousands) {
  std::string digits;
  if (thousands && text.find(',') != std::string_view::npos) {
    for (char c : text) {
      if (c != ',') digits.push_back(c);
    }
    text = digits;
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

MetaValue field_value(FieldType type, std::string_view text) {
  switch (type) {
    case FieldType::integer:
    case FieldType::int_thousands:
      if (auto value = parse_int(text, type == FieldType::int_thousands)) return *value;
      break;
    case FieldType::floating:
      if (auto value = parse_double(text)) return *value;
      break;
    case FieldType::string: break;
  }
  return std::string(text);
}

std::string metric_name(std::string_view text) {
  constexpr std::size_t kMaxName = 64;
  std::string out;
  for (char c : text) {
    const char small = lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) {
      out.push_back(small);
    } else if (!out.empty() && out.back() != '_') {
      out.push_back('_');
    }
  }
  if (out.size() > kMaxName) out.resize(kMaxName);
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

}  // namespace logarithm
