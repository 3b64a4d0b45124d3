#pragma once

#include <vector>

#include "common/rules/rule.h"
#include "common/rules/rule_set.h"

namespace logarithm {

// The rules of one YAML file that are in order; every problem of the others is appended.
std::vector<Rule> load_rules(const RuleSet::Source& source, std::vector<RuleProblem>& problems);

}  // namespace logarithm
