#include "common/rules/rule_reader.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "common/rules/rule_text.h"

namespace logarithm {
namespace {

const std::vector<std::string> kKeys{"name",  "over",  "match",  "fields", "first",
                                     "each",  "carry", "points", "set",    "severity",
                                     "event", "maps",  "parse",  "redact", "streams"};
const std::vector<std::string> kRedactKeys{"name", "redact"};
const std::vector<std::string> kTypes{"int", "float", "string", "int_thousands", "time"};
const std::vector<std::string> kLevels{"trace", "debug", "info", "warning", "error", "fatal"};
const std::vector<std::string> kClasses{"root", "cascade", "teardown", "advice"};
// What a mapping line can say of another process.
const std::vector<std::string> kPlaces{"rank", "local_rank", "world_rank"};

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
    if (node["redact"]) {
      read_redact(node);
    } else {
      read_match(node);
    }
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
      if (!contains(kKeys, key)) {
        report(entry.first, shortened(key), "unknown key" + name_hint(key, kKeys));
      } else if (node["redact"] && !contains(kRedactKeys, key)) {
        report(entry.first, key, "a rule that redacts has a name and nothing else");
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

  // The word at `key`, one of `known`; "" when it is missing or wrong.
  std::string choice(const YAML::Node& node, const std::string& key,
                     const std::vector<std::string>& known) {
    const std::string word = text(node, key);
    if (word.empty() || contains(known, word)) return word;
    report(node[key], key, "unknown word '" + shortened(word) + "'" + name_hint(word, known));
    return "";
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
             "must be a list, as in [" + shortened(value.IsScalar() ? value.Scalar() : "a") + "]");
    }
    return out;
  }

  void read_redact(const YAML::Node& node) {
    rule_.redact = pattern(node, "redact");
    if (!rule_.redact) return;
    if (rule_.redact->full_match("")) {
      report(node["redact"], "redact", "this pattern matches the empty text");
    }
    rule_.redact_group = group_of(*rule_.redact, "secret").value_or(0);
  }

  void read_match(const YAML::Node& node) {
    if (choice(node, "over", {"line", "record"}) == "record") rule_.over = Rule::Over::record;
    const std::string parse = choice(node, "parse", {"json", "pydict"});
    if (!parse.empty()) rule_.parse = parse == "json" ? Rule::Parse::json : Rule::Parse::pydict;
    rule_.match = pattern(node, "match");
    match_refused_ = node["match"] && !rule_.match;
    rule_.each = pattern(node, "each");
    if (!node["match"] && !node["each"] && !node["parse"]) {
      report(node, "match", "a rule needs match, each or parse");
    }
    read_each(node["each"]);
    read_fields(node["fields"]);
    read_first(node["first"]);
    read_carry(node["carry"]);
    read_points(node["points"]);
    read_constants(node["set"]);
    read_severity(node["severity"]);
    read_event(node["event"]);
    read_maps(node);
    rule_.streams = list(node["streams"], "streams");
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

  // The group of `match`, or for a rule that parses the key of that name.
  std::optional<std::size_t> source_of(const YAML::Node& at, const std::string& path,
                                       const std::string& name) {
    if (match_refused_) return std::nullopt;  // reported already
    if (rule_.match) {
      if (const auto group = group_of(*rule_.match, name)) return group;
    }
    if (rule_.parse != Rule::Parse::none) {
      const auto known = std::find(rule_.keys.begin(), rule_.keys.end(), name);
      const auto index = static_cast<std::size_t>(known - rule_.keys.begin());
      if (known == rule_.keys.end()) rule_.keys.push_back(name);
      return Rule::kParsedKey + index;
    }
    if (!rule_.match) {
      report(at, path, "fields are groups of match, which is missing");
    } else {
      report(at, path,
             "match has no group '" + shortened(name) + "'" +
                 name_hint(name, named_groups(*rule_.match)));
    }
    return std::nullopt;
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
    const std::string path = "fields." + shortened(name);
    if (!seen.insert(name).second) report(key, path, "this field is given twice");
    const auto type = parse_field_type(word);
    if (!type) {
      report(value, path, "unknown type '" + shortened(word) + "'" + name_hint(word, kTypes));
    }
    const auto group = source_of(key, path, name);
    if (!type || !group) return;
    if (name == "iteration") {
      rule_.iteration_groups.push_back(*group);
      return;
    }
    if (type == FieldType::time) {
      if (rule_.time_group) report(value, path, "a rule has one time");
      rule_.time_group = group;
    }
    if (name == "file") rule_.file_group = group;
    if (name == "line") rule_.line_group = group;
    rule_.fields.push_back({name, *group, *type, false});
  }

  void read_first(const YAML::Node& node) {
    if (!node) return;
    if (!node.IsMap()) return report(node, "first", "must map a name to a list of groups");
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (name.empty()) {
        report(entry.first, "first", "must map a name to a list of groups");
        continue;
      }
      Rule::First first;
      first.name = name;
      const std::string path = "first." + shortened(name);
      for (const std::string& from : list(entry.second, path)) {
        const auto group = source_of(entry.second, path, from);
        if (group) first.groups.emplace_back(*group, type_of(*group));
      }
      if (contains_field(name)) report(entry.first, path, "is a field already");
      if (name == "iteration") {
        for (const auto& [group, type] : first.groups) rule_.iteration_groups.push_back(group);
      } else {
        rule_.firsts.push_back(std::move(first));
      }
    }
  }

  std::optional<FieldType> type_of(std::size_t group) const {
    for (const auto& field : rule_.fields) {
      if (field.group == group) return field.type;
    }
    return std::nullopt;
  }

  bool contains_field(const std::string& name) const {
    return std::any_of(rule_.fields.begin(), rule_.fields.end(),
                       [&](const Rule::Field& field) { return field.name == name; });
  }

  void read_carry(const YAML::Node& node) {
    if (!node) return;
    for (const std::string& name : list(node, "carry")) {
      const auto field = std::find_if(rule_.fields.begin(), rule_.fields.end(),
                                      [&](const Rule::Field& f) { return f.name == name; });
      if (name == "step" && field != rule_.fields.end()) {
        // A step that is carried is the iteration, and stays what it is called.
        rule_.iteration_groups.push_back(field->group);
      } else if (name != "iteration" && name != "step") {
        report(node, "carry", "only iteration or step can be carried in this version");
        continue;
      }
      if (rule_.iteration_groups.empty() && !match_refused_) {
        report(node, "carry", "'" + name + "' is not one of the rule's fields");
      }
      rule_.carry_iteration = true;
    }
  }

  void read_points(const YAML::Node& node) {
    if (!node) return;
    for (const std::string& name : list(node, "points")) {
      bool known = rule_.each.has_value() || rule_.parse != Rule::Parse::none;
      for (auto& field : rule_.fields) {
        if (field.name == name && field.type != FieldType::string) known = field.point = true;
      }
      for (auto& first : rule_.firsts) {
        if (first.name == name) known = first.point = true;
      }
      if (!known) {
        report(node, "points", "'" + shortened(name) + "' is no numeric field of this rule");
      }
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
             "unknown severity '" + shortened(word) + "'" + name_hint(word, kLevels));
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
      // {group: NAME} reads the level from that group's text; {NAME: level} sets it.
      const bool from_text = entry.first.Scalar() == "group";
      const std::string name = from_text ? entry.second.Scalar() : entry.first.Scalar();
      const auto group = source_of(entry.first, "severity", name);
      if (!group) continue;
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
        report(entry.first, "event." + shortened(key),
               "unknown key" + name_hint(key, {"kind", "class"}));
      }
    }
    if (mark.kind.empty()) report(node, "event.kind", "must be a word");
    if (!contains(kClasses, mark.klass)) {
      report(node, "event.class",
             "unknown class '" + shortened(mark.klass) + "'" + name_hint(mark.klass, kClasses));
    }
    rule_.event = std::move(mark);
  }

  void read_maps(const YAML::Node& node) {
    if (choice(node, "maps", {"process"}).empty() || match_refused_) return;
    rule_.maps_process = true;
    const bool placed = std::any_of(kPlaces.begin(), kPlaces.end(), [&](const std::string& place) {
      return contains_field(place);
    });
    if (!placed) {
      report(node["maps"], "maps", "needs one of the fields rank, world_rank, local_rank");
    }
  }

  const std::string& file_;
  std::string path_;
  std::vector<RuleProblem>& problems_;
  Rule rule_;
  bool match_refused_ = false;
  bool failed_ = false;
};

}  // namespace

std::optional<Rule> read_rule(const YAML::Node& node, const std::string& file, std::size_t index,
                              std::vector<RuleProblem>& problems) {
  return RuleReader(file, index, problems).read(node);
}

}  // namespace logarithm
