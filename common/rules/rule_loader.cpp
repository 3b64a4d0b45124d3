#include "common/rules/rule_loader.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "common/rules/rule_reader.h"
#include "common/rules/rule_text.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxFile = 1u << 20;
constexpr std::size_t kMaxRules = 2000;

void load_document(const RuleSet::Source& source, std::vector<Rule>& rules,
                   std::vector<RuleProblem>& problems) {
  const YAML::Node root = YAML::Load(source.yaml);
  if (root.IsNull()) return;
  if (!root.IsMap()) {
    problems.push_back({source.file, root.Mark().line + 1, "rules", "the file must hold `rules:`"});
    return;
  }
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (key != "rules") {
      problems.push_back({source.file, entry.first.Mark().line + 1, shortened(key),
                          "unknown key" + name_hint(key, {"rules"})});
      continue;
    }
    if (entry.second.IsNull()) continue;
    if (!entry.second.IsSequence()) {
      problems.push_back({source.file, entry.second.Mark().line + 1, "rules", "must be a list"});
      continue;
    }
    std::size_t index = 0;
    std::set<std::string> names;
    for (const auto& node : entry.second) {
      if (index >= kMaxRules) {
        problems.push_back({source.file, node.Mark().line + 1, "rules",
                            "a file has at most " + std::to_string(kMaxRules) + " rules"});
        return;
      }
      auto rule = read_rule(node, source.file, index, problems);
      if (rule && !names.insert(rule->name).second) {
        problems.push_back({source.file, node.Mark().line + 1,
                            "rules[" + std::to_string(index) + "].name",
                            "another rule of this file has the name '" + rule->name + "'"});
        rule.reset();
      }
      if (rule) rules.push_back(std::move(*rule));
      ++index;
    }
  }
}

}  // namespace

std::vector<Rule> load_rules(const RuleSet::Source& source, std::vector<RuleProblem>& problems) {
  std::vector<Rule> rules;
  if (source.yaml.size() > kMaxFile) {
    problems.push_back({source.file, 1, "", "a rule file has at most 1 MiB"});
    return rules;
  }
  try {
    load_document(source, rules, problems);
  } catch (const YAML::Exception& error) {
    problems.push_back({source.file, error.mark.is_null() ? 1 : error.mark.line + 1, "",
                        "not readable as YAML: " + error.msg});
    rules.clear();
  }
  return rules;
}

}  // namespace logarithm
