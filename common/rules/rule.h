#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/line/line.h"
#include "common/regex/regex.h"
#include "common/rules/field_value.h"

namespace logarithm {

// One rule, compiled. Group numbers are those of Regex::group_names(); for a rule that parses
// (`parse`), the numbers from kParsedKey on are places in `keys`.
struct Rule {
  enum class Over : std::uint8_t { line, record };
  enum class Parse : std::uint8_t { none, json, pydict };
  static constexpr std::size_t kParsedKey = 1000;

  struct Field {
    std::string name;
    std::size_t group = 0;
    FieldType type = FieldType::string;
    bool point = false;
  };
  // `name` is what the first group that took part captured; without a type, what that is in the
  // parsed body, else a text.
  struct First {
    std::string name;
    std::vector<std::pair<std::size_t, std::optional<FieldType>>> groups;
    bool point = false;
  };
  struct GroupSeverity {
    std::size_t group = 0;
    std::optional<Severity> level;  // this level when the group took part; none: the group's text
  };

  std::string name;
  Over over = Over::line;
  Parse parse = Parse::none;
  std::vector<std::string> keys;  // of a parsed body, as fields and first name them
  std::optional<Regex> match;
  std::optional<Regex> each;  // repeated pairs; groups each_key and each_value
  std::size_t each_key = 0, each_value = 0;
  std::optional<Regex> redact;
  std::size_t redact_group = 0;  // the group `secret`, or all of the match
  std::vector<Field> fields;
  std::vector<First> firsts;
  std::vector<std::size_t> iteration_groups;  // the first that took part is the line's iteration
  std::optional<std::size_t> time_group;      // sets the line's time
  std::optional<std::size_t> file_group, line_group;  // fields `file` and `line`: the call site
  bool carry_iteration = false;
  bool maps_process = false;
  std::vector<std::string> points;  // names of `each` pairs that are also telemetry points
  std::optional<Severity> severity;
  std::vector<GroupSeverity> group_severity;
  std::vector<MetaPair> constants;
  std::optional<EventMark> event;
  std::vector<std::string> streams;  // empty: all
};

}  // namespace logarithm
