#include "aggregator/query/match.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/base/utf8.h"

namespace logarithm::aggregator {
namespace {

std::optional<Number> parse_number(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  if (auto [stop, problem] = std::from_chars(text.data(), end, integer);
      problem == std::errc{} && stop == end) {
    return integer;
  }
  double real = 0;
  if (auto [stop, problem] = std::from_chars(text.data(), end, real);
      problem == std::errc{} && stop == end) {
    return real;
  }
  return std::nullopt;
}

bool string_matches(const Predicate& predicate, std::string_view value) {
  switch (predicate.kind) {
    case Predicate::Kind::string_equal: return value == predicate.text;
    case Predicate::Kind::contains: return value.find(predicate.text) != std::string_view::npos;
    case Predicate::Kind::regex_full: return predicate.regex->full_match(value);
    case Predicate::Kind::regex_search: return predicate.regex->search(value);
    default: return false;
  }
}

bool number_matches(const Predicate& predicate, const Number& value) {
  if (predicate.kind == Predicate::Kind::number) {
    return compare_numbers(value, predicate.compare, predicate.number);
  }
  if (predicate.kind == Predicate::Kind::intervals) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) return false;
    return std::any_of(predicate.intervals.begin(), predicate.intervals.end(),
                       [&](const Interval& in) { return in.contains(*integer); });
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    char text[24];
    auto [end, problem] = std::to_chars(text, text + sizeof text, *integer);
    return string_matches(predicate, std::string_view(text, static_cast<std::size_t>(end - text)));
  }
  return string_matches(predicate, print_number(std::get<double>(value)));
}

template <typename T>
bool optional_matches(const Predicate& predicate, const std::optional<T>& value) {
  return value ? value_matches(predicate, std::int64_t{*value}) : absent_matches(predicate);
}

bool stream_matches(const Predicate& predicate, const Row& row) {
  const StreamAttributes& attributes = *row.join().attributes;
  const bool told = row.line().output != Output::unset;
  // A line that says which output it is of has no other.
  const auto matches = [&](std::string_view name) {
    return !(told && is_output(name)) && value_matches(predicate, name);
  };
  if (matches(attributes.name)) return true;
  for (const std::string& alias : attributes.aliases) {
    if (matches(alias)) return true;
  }
  return told && value_matches(predicate, stream_name(row.line(), row.join()));
}

bool flags_match(const Predicate& predicate, std::uint32_t flags) {
  bool any = false;
  for (const FlagName& flag : kFlagNames) {
    if ((flags & flag.bit) == 0) continue;
    if (value_matches(predicate, flag.name)) return true;
    any = true;
  }
  return !any && absent_matches(predicate);
}

bool meta_matches(const Predicate& predicate, const Line& line) {
  bool any = false;
  for (const MetaPair& pair : line.meta) {
    if (pair.key != predicate.field.key) continue;
    any = true;
    if (meta_value_matches(predicate, pair.value)) return true;
  }
  return !any && absent_matches(predicate);
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

bool leaf_matches(const Predicate& predicate, Row& row) {
  const Line& line = row.line();
  const StreamJoin& join = row.join();
  auto text_or_absent = [&](std::string_view value) {
    return value.empty() ? absent_matches(predicate) : value_matches(predicate, value);
  };
  switch (predicate.field.field) {
    case Field::job: return text_or_absent(*join.job);
    case Field::attempt: return optional_matches(predicate, join.attempt);
    case Field::rank: return optional_matches(predicate, rank_of(line, join));
    case Field::host: return text_or_absent(join.attributes->host);
    case Field::stream: return stream_matches(predicate, row);
    case Field::severity:
      if (predicate.kind == Predicate::Kind::at_least) return line.severity >= predicate.severity;
      return text_or_absent(to_string(line.severity));
    case Field::callsite: return text_or_absent(line.callsite);
    case Field::template_id: return value_matches(predicate, hex(line.template_id));
    case Field::iteration: return optional_matches(predicate, line.iteration);
    case Field::process: return text_or_absent(join.attributes->process);
    case Field::stream_id: return value_matches(predicate, join.stream_text);
    case Field::id:
      return value_matches(predicate, join.stream_text + ":" + std::to_string(line.offset));
    case Field::flags: return flags_match(predicate, line.flags);
    case Field::text: return value_matches(predicate, row.text());
    case Field::meta: return meta_matches(predicate, line);
  }
  return false;
}

}  // namespace

std::string_view Row::text() {
  if (text_) return *text_;
  std::string_view view;
  if (line_.has(line_flag::ansi) || line_.transport != 0) {
    made_ = text_of(line_);
    view = *made_;
  } else {
    view = line_.raw;
    view.remove_prefix(std::min<std::size_t>(line_.text_begin, view.size()));
  }
  if (!valid_utf8(view)) {
    made_ = sanitize_utf8(view);
    view = *made_;
  }
  text_ = view;
  return view;
}

bool matches(const Predicate& predicate, Row& row) {
  const auto child = [&](const Predicate& p) { return matches(p, row); };
  const auto& children = predicate.children;
  switch (predicate.kind) {
    case Predicate::Kind::all_of: return std::all_of(children.begin(), children.end(), child);
    case Predicate::Kind::any_of: return std::any_of(children.begin(), children.end(), child);
    case Predicate::Kind::negation: return !matches(children.front(), row);
    default: return leaf_matches(predicate, row);
  }
}

std::string print_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[40];
  auto [end, problem] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

bool value_matches(const Predicate& predicate, std::string_view value) {
  if (predicate.kind == Predicate::Kind::number || predicate.kind == Predicate::Kind::intervals) {
    auto parsed = parse_number(value);
    return parsed && number_matches(predicate, *parsed);
  }
  if (predicate.kind == Predicate::Kind::at_least) {
    auto severity = parse_severity(value);
    return severity.value_or(Severity::unset) >= predicate.severity;
  }
  return string_matches(predicate, value);
}

bool value_matches(const Predicate& predicate, std::int64_t value) {
  return number_matches(predicate, value);
}

bool absent_matches(const Predicate& predicate) { return value_matches(predicate, ""); }

bool meta_value_matches(const Predicate& predicate, const MetaValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return number_matches(predicate, *integer);
  }
  if (const auto* real = std::get_if<double>(&value)) return number_matches(predicate, *real);
  return value_matches(predicate, std::string_view(std::get<std::string>(value)));
}

}  // namespace logarithm::aggregator
