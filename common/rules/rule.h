#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/line/line.h"
#include "common/regex/regex.h"
#include "common/rules/field_value.h"

namespace logarithm {

// One rule, compiled. Group numbers are those of Regex::group_names().
struct Rule {
  struct Field {
    std::string name;
    std::size_t group = 0;
    FieldType type = FieldType::string;
    bool point = false;
  };
  struct GroupSeverity {
    std::size_t group = 0;
    std::optional<Severity> level;  // this level when the group took part; none: the group's text
  };

  std::string name;
  std::optional<Regex> match;
  std::optional<Regex> each;  // repeated pairs; groups each_key and each_value
  std::size_t each_key = 0, each_value = 0;
  std::vector<Field> fields;
  std::optional<std::size_t> iteration_group;  // its value is the line's iteration
  bool carry_iteration = false;
  std::vector<std::string> points;  // names of `each` pairs that are also telemetry points
  std::optional<Severity> severity;
  std::vector<GroupSeverity> group_severity;
  std::vector<MetaPair> constants;
  std::optional<EventMark> event;
  std::vector<std::string> streams;  // empty: all
};

}  // namespace logarithm
