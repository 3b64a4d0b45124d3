#include "aggregator/query/predicate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace logarithm::aggregator {

const FlagName kFlagNames[14] = {
    {line_flag::continuation, "continuation"},
    {line_flag::glued, "glued"},
    {line_flag::progress, "progress"},
    {line_flag::partial, "partial"},
    {line_flag::derived_time, "derived_time"},
    {line_flag::derived_iteration, "derived_iteration"},
    {line_flag::derived_fields, "derived_fields"},
    {line_flag::time_suspect, "time_suspect"},
    {line_flag::rank_mismatch, "rank_mismatch"},
    {line_flag::invalid_utf8, "invalid_utf8"},
    {line_flag::truncated, "truncated"},
    {line_flag::redacted, "redacted"},
    {line_flag::recovered, "recovered"},
    {line_flag::ansi, "ansi"},
};

FieldRef field_named(std::string_view name) {
  static constexpr std::pair<std::string_view, Field> kNames[] = {
      {"job", Field::job},
      {"attempt", Field::attempt},
      {"rank", Field::rank},
      {"host", Field::host},
      {"stream", Field::stream},
      {"severity", Field::severity},
      {"callsite", Field::callsite},
      {"template", Field::template_id},
      {"process", Field::process},
      {"iteration", Field::iteration},
      {"id", Field::id},
      {"stream_id", Field::stream_id},
      {"flags", Field::flags},
      {"text", Field::text},
  };
  for (const auto& [known, field] : kNames) {
    if (known == name) return {field, std::string(name)};
  }
  constexpr std::string_view kMeta = "meta.";
  if (name.starts_with(kMeta)) name.remove_prefix(kMeta.size());
  return {Field::meta, std::string(name)};
}

namespace predicate {
namespace {

Predicate make(Predicate::Kind kind) {
  Predicate out;
  out.kind = kind;
  return out;
}

Predicate make(Predicate::Kind kind, FieldRef field) {
  Predicate out = make(kind);
  out.field = std::move(field);
  return out;
}

}  // namespace

Predicate everything() { return make(Predicate::Kind::all_of); }

Predicate all_of(std::vector<Predicate> children) {
  if (children.size() == 1) return std::move(children.front());
  Predicate out = make(Predicate::Kind::all_of);
  out.children = std::move(children);
  return out;
}

Predicate any_of(std::vector<Predicate> children) {
  if (children.size() == 1) return std::move(children.front());
  Predicate out = make(Predicate::Kind::any_of);
  out.children = std::move(children);
  return out;
}

Predicate negation(Predicate child) {
  Predicate out = make(Predicate::Kind::negation);
  out.children.push_back(std::move(child));
  return out;
}

Predicate string_equal(FieldRef field, std::string text) {
  if (field.field == Field::severity) {
    if (auto severity = parse_severity(text)) text = to_string(*severity);
  }
  Predicate out = make(Predicate::Kind::string_equal, std::move(field));
  out.text = std::move(text);
  return out;
}

Predicate regex_full(FieldRef field, Regex regex) {
  Predicate out = make(Predicate::Kind::regex_full, std::move(field));
  out.regex = std::move(regex);
  return out;
}

Predicate regex_search(FieldRef field, Regex regex) {
  Predicate out = make(Predicate::Kind::regex_search, std::move(field));
  out.regex = std::move(regex);
  return out;
}

Predicate contains(std::string text) {
  Predicate out = make(Predicate::Kind::contains, FieldRef{Field::text, "text"});
  out.text = std::move(text);
  return out;
}

Predicate number(FieldRef field, Compare compare, Number number) {
  Predicate out = make(Predicate::Kind::number, std::move(field));
  out.compare = compare;
  out.number = number;
  return out;
}

Predicate intervals(FieldRef field, std::vector<Interval> intervals) {
  Predicate out = make(Predicate::Kind::intervals, std::move(field));
  out.intervals = std::move(intervals);
  return out;
}

Predicate at_least(Severity severity) {
  Predicate out = make(Predicate::Kind::at_least, FieldRef{Field::severity, "severity"});
  out.severity = severity;
  return out;
}

}  // namespace predicate

namespace {

template <typename Real>
bool compare_reals(Real a, Compare compare, Real b) {
  const bool equal = a == b || (std::isnan(a) && std::isnan(b));
  switch (compare) {
    case Compare::eq: return equal;
    case Compare::ne: return !equal;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
  }
  return false;
}

}  // namespace

bool compare_numbers(const Number& left, Compare compare, const Number& right) {
  if (const auto* a = std::get_if<double>(&left)) {
    if (const auto* b = std::get_if<double>(&right)) return compare_reals(*a, compare, *b);
  }
  // long double holds every int64 and every double exactly on the platforms we build for.
  auto widen = [](const Number& n) {
    return std::visit([](auto value) { return static_cast<long double>(value); }, n);
  };
  return compare_reals(widen(left), compare, widen(right));
}

bool needs_text(const Predicate& predicate) {
  if (predicate.kind == Predicate::Kind::contains) return true;
  const bool leaf = predicate.children.empty() && predicate.kind != Predicate::Kind::all_of &&
                    predicate.kind != Predicate::Kind::any_of;
  if (leaf) return predicate.field.field == Field::text;
  return std::any_of(predicate.children.begin(), predicate.children.end(), needs_text);
}

bool needs_meta(const Predicate& predicate) {
  const bool leaf = predicate.children.empty() && predicate.kind != Predicate::Kind::all_of &&
                    predicate.kind != Predicate::Kind::any_of;
  if (leaf) return predicate.field.field == Field::meta;
  return std::any_of(predicate.children.begin(), predicate.children.end(), needs_meta);
}

void add_meta_keys(const Predicate& predicate, std::vector<std::string>& keys) {
  if (predicate.field.field == Field::meta) keys.push_back(predicate.field.key);
  for (const Predicate& child : predicate.children) add_meta_keys(child, keys);
}

}  // namespace logarithm::aggregator
