#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/rules/rule.h"
#include "common/rules/rule_set.h"

namespace YAML {
class Node;
}

namespace logarithm {

// One entry of `rules:`. Every problem is appended; with any of them there is no rule.
std::optional<Rule> read_rule(const YAML::Node& node, const std::string& file, std::size_t index,
                              std::vector<RuleProblem>& problems);

}  // namespace logarithm
