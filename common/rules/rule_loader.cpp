#include "common/rules/rule_loader.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "common/rules/rule_text.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxFile = 1u << 20;
constexpr std::size_t kMaxRules = 2000;

const std::vector<std::string> kKeys{"name",   "match", "fields",   "each",  "carry",
                                     "points", "set",   "severity", "event", "streams"};
// Part of the rule language, but of a later version of it.
const std::vector<std::string> kLaterKeys{"over", "maps", "first", "redact", "parse"};
const std::vector<std::string> kTypes{"int", "float", "string", "int_thousands"};
const std::vector<std::string> kLevels{"trace", "debug", "info", "warning", "error", "fatal"};
const std::vector<std::string> kClasses{"root", "cascade", "teardown", "advice"};

std::string shorten(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<std::size_t> group_of(const Regex& regex, const std::string& name) {
  const auto& names = regex.group_names();
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

std::vector<std::string> named_groups(const Regex& regex) {
  std::vector<std::string> out;
  for (const auto& name : regex.group_names()) {
    if (!name.empty()) out.push_back(name);
  }
  return out;
}

// Reads one rule. Every problem is reported; with any of them the rule is not used.
class RuleReader {
 public:
  RuleReader(const std::string& file, std::size_t index, std::vector<RuleProblem>& problems)
      : file_(file), path_("rules[" + std::to_string(index) + "]"), problems_(problems) {}

  std::optional<Rule> read(const YAML::Node& node) {
    if (!node.IsMap()) {
      report(node, "", "a rule is a mapping with name and match");
      return std::nullopt;
    }
    check_keys(node);
    rule_.name = text(node, "name");
    if (!node["name"]) report(node, "name", "a rule needs a name");
    rule_.match = pattern(node, "match");
    match_refused_ = node["match"] && !rule_.match;
    rule_.each = pattern(node, "each");
    if (!node["match"] && !node["each"]) report(node, "match", "a rule needs match or each");
    read_each(node["each"]);
    read_fields(node["fields"]);
    read_carry(node["carry"]);
    read_points(node["points"]);
    read_constants(node["set"]);
    read_severity(node["severity"]);
    read_event(node["event"]);
    rule_.streams = list(node["streams"], "streams");
    if (failed_) return std::nullopt;
    return std::move(rule_);
  }

 private:
  void report(const YAML::Node& at, const std::string& key, const std::string& message) {
    failed_ = true;
    const std::string path = key.empty() ? path_ : path_ + "." + key;
    problems_.push_back({file_, at.Mark().line + 1, path, message});
  }

  void check_keys(const YAML::Node& node) {
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        report(entry.first, "", "a key is a word");
        continue;
      }
      const std::string key = entry.first.Scalar();
      if (!seen.insert(key).second) report(entry.first, key, "this key is given twice");
      if (contains(kLaterKeys, key)) {
        report(entry.first, key, "'" + key + "' is not supported in this version");
      } else if (!contains(kKeys, key)) {
        report(entry.first, shorten(key), "unknown key" + name_hint(key, kKeys));
      }
    }
  }

  std::string text(const YAML::Node& node, const std::string& key) {
    const YAML::Node value = node[key];
    if (!value) return "";
    if (!value.IsScalar() || value.Scalar().empty()) {
      report(value, key, "must be a non-empty text");
      return "";
    }
    return value.Scalar();
  }

  std::optional<Regex> pattern(const YAML::Node& node, const std::string& key) {
    const std::string source = text(node, key);
    if (source.empty()) return std::nullopt;
    auto regex = Regex::compile(source, RegexMode::latin1);
    if (regex.ok()) return *regex;
    report(node[key], key, "RE2 refuses this pattern: " + regex.error().message());
    return std::nullopt;
  }

  std::vector<std::string> list(const YAML::Node& value, const std::string& key) {
    std::vector<std::string> out;
    if (!value) return out;
    if (value.IsSequence()) {
      for (const auto& item : value) {
        if (item.IsScalar() && !item.Scalar().empty()) {
          out.push_back(item.Scalar());
        } else {
          report(item, key, "must be a list of words");
        }
      }
    } else {
      report(value, key,
             "must be a list, as in [" + shorten(value.IsScalar() ? value.Scalar() : "a") + "]");
    }
    return out;
  }

  void read_each(const YAML::Node& node) {
    if (!rule_.each) return;
    const auto key = group_of(*rule_.each, "key"), value = group_of(*rule_.each, "value");
    if (key && value) {
      rule_.each_key = *key;
      rule_.each_value = *value;
    } else {
      report(node, "each", "needs the groups (?P<key>…) and (?P<value>…)");
    }
  }

  void read_fields(const YAML::Node& node) {
    if (!node) return;
    if (!node.IsMap()) return report(node, "fields", "must map group names to types");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
        report(entry.first, "fields", "must map group names to types");
        continue;
      }
      read_field(entry.first, entry.second, seen);
    }
  }

  void read_field(const YAML::Node& key, const YAML::Node& value, std::set<std::string>& seen) {
    const std::string name = key.Scalar(), word = value.Scalar();
    const std::string path = "fields." + shorten(name);
    if (!seen.insert(name).second) report(key, path, "this field is given twice");
    const auto type = parse_field_type(word);
    if (word == "time") {
      report(value, path, "type 'time' is not supported in this version");
    } else if (!type) {
      report(value, path, "unknown type '" + shorten(word) + "'" + name_hint(word, kTypes));
    }
    if (match_refused_) return;  // reported already
    if (!rule_.match) return report(key, path, "fields are groups of match, which is missing");
    const auto group = group_of(*rule_.match, name);
    if (!group) {
      report(key, path,
             "match has no group '" + shorten(name) + "'" +
                 name_hint(name, named_groups(*rule_.match)));
    } else if (type && name == "iteration") {
      rule_.iteration_group = group;
    } else if (type) {
      rule_.fields.push_back({name, *group, *type, false});
    }
  }

  void read_carry(const YAML::Node& node) {
    if (!node) return;
    for (const std::string& name : list(node, "carry")) {
      auto field = std::find_if(rule_.fields.begin(), rule_.fields.end(),
                                [&](const Rule::Field& f) { return f.name == name; });
      if (name == "step" && field != rule_.fields.end()) {
        rule_.iteration_group = field->group;  // a step that is carried is the iteration
        rule_.fields.erase(field);
      } else if (name != "iteration" && name != "step") {
        report(node, "carry", "only iteration or step can be carried in this version");
        continue;
      }
      if (!rule_.iteration_group && !match_refused_) {
        report(node, "carry", "'" + name + "' is not one of the rule's fields");
      }
      rule_.carry_iteration = true;
    }
  }

  void read_points(const YAML::Node& node) {
    if (!node) return;
    for (const std::string& name : list(node, "points")) {
      bool known = rule_.each.has_value();
      for (auto& field : rule_.fields) {
        if (field.name == name && field.type != FieldType::string) known = field.point = true;
      }
      if (!known)
        report(node, "points", "'" + shorten(name) + "' is no numeric field of this rule");
      rule_.points.push_back(name);
    }
  }

  void read_constants(const YAML::Node& node) {
    if (!node) return;
    if (!node.IsMap()) return report(node, "set", "must map names to constants");
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
        report(entry.first, "set", "must map names to constants");
        continue;
      }
      const std::string word = entry.second.Scalar();
      MetaValue value = word;
      if (entry.second.Tag() != "!") {  // "!" marks a quoted scalar: always text
        if (auto whole = parse_int(word)) {
          value = *whole;
        } else if (auto real = parse_double(word)) {
          value = *real;
        }
      }
      rule_.constants.push_back({entry.first.Scalar(), std::move(value), false});
    }
  }

  std::optional<Severity> level(const YAML::Node& node) {
    const std::string word = node.IsScalar() ? node.Scalar() : "";
    const auto severity = parse_severity(word);
    if (!severity) {
      report(node, "severity",
             "unknown severity '" + shorten(word) + "'" + name_hint(word, kLevels));
    }
    return severity;
  }

  void read_severity(const YAML::Node& node) {
    if (!node) return;
    if (!node.IsMap()) {
      rule_.severity = level(node);
      return;
    }
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
        report(entry.first, "severity", "must be a level or {group: level}");
        continue;
      }
      if (match_refused_) continue;
      if (!rule_.match) {
        report(entry.first, "severity", "groups are those of match, which is missing");
        continue;
      }
      // {group: NAME} reads the level from that group's text; {NAME: level} sets it.
      const bool from_text = entry.first.Scalar() == "group";
      const std::string name = from_text ? entry.second.Scalar() : entry.first.Scalar();
      const auto group = group_of(*rule_.match, name);
      if (!group) {
        report(entry.first, "severity",
               "match has no group '" + shorten(name) + "'" +
                   name_hint(name, named_groups(*rule_.match)));
        continue;
      }
      rule_.group_severity.push_back({*group, from_text ? std::nullopt : level(entry.second)});
    }
  }

  void read_event(const YAML::Node& node) {
    if (!node) return;
    if (!node.IsMap()) return report(node, "event", "must be {kind: …, class: …}");
    EventMark mark;
    mark.rule = rule_.name;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string value = entry.second.IsScalar() ? entry.second.Scalar() : "";
      if (key == "kind") {
        mark.kind = value;
      } else if (key == "class") {
        mark.klass = value;
      } else {
        report(entry.first, "event." + shorten(key),
               "unknown key" + name_hint(key, {"kind", "class"}));
      }
    }
    if (mark.kind.empty()) report(node, "event.kind", "must be a word");
    if (!contains(kClasses, mark.klass)) {
      report(node, "event.class",
             "unknown class '" + shorten(mark.klass) + "'" + name_hint(mark.klass, kClasses));
    }
    rule_.event = std::move(mark);
  }

  const std::string& file_;
  std::string path_;
  std::vector<RuleProblem>& problems_;
  Rule rule_;
  bool match_refused_ = false;
  bool failed_ = false;
};

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
      problems.push_back({source.file, entry.first.Mark().line + 1, shorten(key),
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
      auto rule = RuleReader(source.file, index, problems).read(node);
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
