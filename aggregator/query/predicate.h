#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/line/line.h"
#include "common/regex/regex.h"

// What a query asks of a line: one tree, whether it came from LogQL or from plain parameters.
// Immutable once built; thread-safe to read.
namespace logarithm::aggregator {

enum class Field : std::uint8_t {
  job,
  attempt,
  rank,
  host,
  stream,
  severity,
  callsite,
  template_id,
  iteration,
  process,
  stream_id,
  id,
  flags,
  text,
  meta,
};

// A field by name; `key` is the metadata key when `field` is meta.
struct FieldRef {
  Field field = Field::text;
  std::string key;
};

// "rank" -> Field::rank, …; anything else is metadata, as is "meta.rank" (key "rank").
FieldRef field_named(std::string_view name);

using Number = std::variant<std::int64_t, double>;
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge };

// Closed interval of integers.
struct Interval {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  bool contains(std::int64_t value) const { return min <= value && value <= max; }
};

struct Predicate {
  enum class Kind : std::uint8_t {
    all_of,        // of `children`; without any: every line
    any_of,        // of `children`; without any: no line
    negation,      // of children[0]
    string_equal,  // `field` printed equals `text`; an absent field is ""
    regex_full,    // all of `field` matches `regex`; an absent field is ""
    regex_search,  // `regex` lies anywhere in `field`
    contains,      // `text` lies anywhere in the line's text
    number,        // `field` `compare` `number`; false for an absent field
    intervals,     // `field` is an integer in one of `intervals`
    at_least,      // severity >= `severity`
  };

  Kind kind = Kind::all_of;
  std::vector<Predicate> children;
  FieldRef field;
  std::string text;
  std::optional<Regex> regex;
  Compare compare = Compare::eq;
  Number number = std::int64_t{0};
  std::vector<Interval> intervals;
  Severity severity = Severity::unset;
};

namespace predicate {
Predicate everything();
Predicate all_of(std::vector<Predicate> children);
Predicate any_of(std::vector<Predicate> children);
Predicate negation(Predicate child);
Predicate string_equal(FieldRef field, std::string text);  // severities are brought to one spelling
Predicate regex_full(FieldRef field, Regex regex);
Predicate regex_search(FieldRef field, Regex regex);
Predicate contains(std::string text);
Predicate number(FieldRef field, Compare compare, Number number);
Predicate intervals(FieldRef field, std::vector<Interval> intervals);
Predicate at_least(Severity severity);
}  // namespace predicate

// Exact across the two types. NaN equals NaN here, and is neither less nor greater than anything:
// `== NaN` finds the diverged values.
bool compare_numbers(const Number& left, Compare compare, const Number& right);

// True when the predicate looks at the text (or metadata) of lines.
bool needs_text(const Predicate& predicate);
bool needs_meta(const Predicate& predicate);
// Appends the metadata keys that the predicate looks at.
void add_meta_keys(const Predicate& predicate, std::vector<std::string>& keys);

// The names of the flags that are set, in a fixed order.
struct FlagName {
  std::uint32_t bit;
  std::string_view name;
};
extern const FlagName kFlagNames[14];

}  // namespace logarithm::aggregator
