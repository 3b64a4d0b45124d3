#include <doctest/doctest.h>

#include <algorithm>

#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

struct Built {
  std::shared_ptr<const RuleSet> rules;
  std::vector<RuleProblem> problems;
};

Built build(const std::string& yaml) {
  Built built;
  built.rules = RuleSet::build({{"my.yaml", yaml}}, built.problems);
  return built;
}

}  // namespace

TEST_CASE("Rule loader: a refused rule is reported with place and hint, the others run") {
  struct Case {
    const char *rule, *path, *message;
  };
  const Case cases[] = {
      {"{name: a, match: x, feilds: {}}", "rules[1].feilds", "did you mean 'fields'?"},
      {"{name: a, match: 'a(b'}", "rules[1].match", "missing )"},
      {"{name: a, match: '(?P<x>a)|(?P<x>b)'}", "rules[1].match", "used twice"},
      {"{name: a, match: 'caf\xC3\xA9'}", "rules[1].match", "non-ASCII"},
      {"{name: a, match: '(?=x)'}", "rules[1].match", "RE2 refuses"},
      {"{name: a, match: x, match: y}", "rules[1].match", "given twice"},
      {"{name: a, match: '(?P<xid>\\d+)', fields: {xdi: int}}", "rules[1].fields.xdi",
       "did you mean 'xid'?"},
      {"{name: a, match: '(?P<x>\\d+)', fields: {x: integer}}", "rules[1].fields.x",
       "unknown type"},
      {"{name: a, match: x, over: recrod}", "rules[1].over", "did you mean 'record'?"},
      {"{name: a, redact: 'x('}", "rules[1].redact", "RE2 refuses"},
      {"{name: a, redact: 'x*'}", "rules[1].redact", "matches the empty text"},
      {"{name: a, redact: x, severity: error}", "rules[1].severity", "nothing else"},
      {"{name: a, match: x, maps: thread}", "rules[1].maps", "unknown word"},
      {"{name: a, match: x, maps: process}", "rules[1].maps", "needs one of the fields"},
      {"{name: a, match: x, first: {}, firts: {}}", "rules[1].firts", "did you mean 'first'?"},
      {"{name: a, match: '(?P<a>x)', first: {r: [a, b]}}", "rules[1].first.r", "no group 'b'"},
      {"{name: a, match: '(?P<a>x)', first: {r: a}}", "rules[1].first.r", "must be a list"},
      {"{name: a, match: '(?P<a>x)(?P<b>y)', fields: {a: time, b: time}}", "rules[1].fields.b",
       "one time"},
      {"{name: a, parse: yaml}", "rules[1].parse", "unknown word"},
      {"{name: a, match: x, severity: eror}", "rules[1].severity", "did you mean 'error'?"},
      {"{name: a, match: x, severity: {lvl: error}}", "rules[1].severity", "no group 'lvl'"},
      {"{name: a, match: x, event: {kind: k, class: rot}}", "rules[1].event.class",
       "did you mean 'root'?"},
      {"{name: a, match: x, event: {class: root}}", "rules[1].event.kind", "must be a word"},
      {"{name: a, match: x, carry: [iteration]}", "rules[1].carry", "not one of the rule's fields"},
      {"{name: a, match: x, carry: iteration}", "rules[1].carry", "must be a list"},
      {"{name: a, match: x, points: [loss]}", "rules[1].points", "no numeric field"},
      {"{name: a, each: '(?P<key>a)=b'}", "rules[1].each", "needs the groups"},
      {"{name: a}", "rules[1].match", "needs match, each or parse"},
      {"{match: x}", "rules[1].name", "needs a name"},
      {"{name: good, match: x}", "rules[1].name", "another rule"},
      {"just a word", "rules[1]", "is a mapping"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.rule));
    const Built built = build(
        std::string("rules:\n  - {name: good, match: x, severity: error}\n  - ") + c.rule + "\n");
    CHECK(built.rules->size() == 1);
    REQUIRE_FALSE(built.problems.empty());
    const bool told = std::any_of(built.problems.begin(), built.problems.end(), [&](const auto& p) {
      CAPTURE(p.to_string());
      return p.file == "my.yaml" && p.line == 3 && p.path == c.path &&
             p.message.find(c.message) != std::string::npos;
    });
    CAPTURE(built.problems[0].to_string());
    CHECK(told);
  }
}

TEST_CASE("Rule loader: all problems of a file are reported, with their lines") {
  const Built built =
      build("rules:\n  - name: a\n    match: 'a('\n    severity: no\n  - name: b\n");
  REQUIRE(built.problems.size() == 3);
  CHECK(built.problems[0].line == 3);
  CHECK(built.problems[1].line == 4);
  CHECK(built.problems[2].line == 5);
  CHECK(built.problems[0].to_string().starts_with("my.yaml:3: rules[0].match: RE2 refuses"));
}

TEST_CASE("Rule loader: files that are no rule files are reported, never a crash") {
  for (const char* yaml : {"rules: [", "- a", "rules: 3", "rule: []", "a: [1, 2", "rules: [[1]]",
                           "rules: {a: b}", "? [x]\n: y", "*x", "rules: [{name: {}, match: []}]",
                           "rules:\n - name: a\n   match: !!binary x\n   fields: [1]\n"}) {
    CAPTURE(std::string(yaml));
    CHECK_FALSE(build(yaml).problems.empty());
  }
  CHECK(build("").problems.empty());
  CHECK(build("rules:\n").problems.empty());
  CHECK_FALSE(build(std::string(2u << 20, '#')).problems.empty());
}

TEST_CASE(
    "Rule loader: a later file overrides a rule by name, a broken override leaves the first") {
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build({{"a.yaml", "rules: [{name: r, match: x, severity: info}]"},
                                     {"b.yaml", "rules: [{name: r, match: x, severity: fatal}]"},
                                     {"c.yaml", "rules: [{name: r, match: 'x('}]"}},
                                    problems);
  Extraction found;
  rules->apply("x", "stdout", found);
  CHECK(rules->size() == 1);
  CHECK(found.severity == Severity::fatal);
  CHECK(problems.size() == 1);
}

}  // namespace logarithm
