#include "common/rules/rule_set.h"

#include <doctest/doctest.h>

#include <cmath>

namespace logarithm {
namespace {

Extraction extract(const std::string& yaml, std::string_view body,
                   std::string_view stream = "stdout") {
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build({{"t.yaml", yaml}}, problems);
  for (const auto& problem : problems) FAIL(problem.to_string());
  Extraction found;
  found.severity = Severity::fatal;  // what was there before must not stay
  rules->apply(body, stream, found);
  return found;
}

const MetaPair* find(const Extraction& found, const std::string& key) {
  for (const auto& pair : found.meta) {
    if (pair.key == key) return &pair;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("Rule set: typed fields, constants, severity and event of a match") {
  const std::string yaml = R"(
rules:
  - name: xid
    streams: [kernel]
    match: 'Xid \(PCI:(?P<pci>[0-9a-f:]+)\): (?P<xid>\d+)(?P<rest>,.*)?'
    fields: {pci: string, xid: int, rest: string}
    set: {component: gpu, weight: 2, share: 0.5, text: "7"}
    severity: error
    event: {kind: xid, class: root}
)";
  const Extraction found = extract(yaml, "NVRM: Xid (PCI:0000:5d:00): 94", "kernel");
  CHECK(std::get<std::string>(find(found, "pci")->value) == "0000:5d:00");
  CHECK(std::get<std::int64_t>(find(found, "xid")->value) == 94);
  CHECK(find(found, "rest") == nullptr);
  CHECK(std::get<std::string>(find(found, "component")->value) == "gpu");
  CHECK(std::get<std::int64_t>(find(found, "weight")->value) == 2);
  CHECK(std::get<double>(find(found, "share")->value) == 0.5);
  CHECK(std::get<std::string>(find(found, "text")->value) == "7");
  CHECK(found.severity == Severity::error);
  CHECK(found.events == std::vector<EventMark>{{"xid", "xid", "root"}});
  CHECK(extract(yaml, "NVRM: Xid (PCI:0000:5d:00): 94", "stdout").empty());
  CHECK(extract(yaml, "something else", "kernel").empty());
}

TEST_CASE("Rule set: each gives normalised float fields, points are flagged") {
  const std::string yaml = R"(
rules:
  - name: megatron-iteration
    match: '^ ?(?:\[[^\]]+\] )?iteration +(?P<iteration>\d+)/ *\d+ \|'
    fields: {iteration: int}
    each: '(?P<key>[A-Za-z][^:|]*): +(?P<value>[-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf)) \|'
    carry: [iteration]
    points: [lm_loss]
)";
  const Extraction found = extract(
      yaml,
      " iteration      120/  500000 | learning rate: 1.5E-05 | lm loss: nan | grad norm: -inf |");
  CHECK(found.iteration == 120);
  CHECK(found.carry_iteration);
  CHECK(std::get<double>(find(found, "learning_rate")->value) == 1.5e-05);
  CHECK_FALSE(find(found, "learning_rate")->point);
  CHECK(std::isnan(std::get<double>(find(found, "lm_loss")->value)));
  CHECK(find(found, "lm_loss")->point);
  CHECK(std::get<double>(find(found, "grad_norm")->value) == -INFINITY);
  CHECK(find(found, "iteration") == nullptr);
}

TEST_CASE("Rule set: a step that is carried is the iteration, else it is metadata") {
  const std::string head = "rules: [{name: s, match: 'step (?P<step>\\d+)', fields: {step: int}";
  const Extraction carried = extract(head + ", carry: [step]}]", "step 7");
  CHECK(carried.iteration == 7);
  CHECK(carried.meta.empty());
  const Extraction plain = extract(head + "}]", "step 7");
  CHECK_FALSE(plain.iteration.has_value());
  CHECK(std::get<std::int64_t>(find(plain, "step")->value) == 7);
}

TEST_CASE("Rule set: severity by group, and the highest of several rules") {
  const std::string by_text =
      "rules: [{name: s, match: '<(?P<lvl>\\w+)>', severity: {group: lvl}}]";
  CHECK(extract(by_text, "<warn>").severity == Severity::warning);
  CHECK_FALSE(extract(by_text, "<unheard>").severity.has_value());
  const std::string by_part =
      "rules: [{name: s, match: '(?P<bad>bad)|(?P<odd>odd)', severity: {bad: error, odd: "
      "warning}}]";
  CHECK(extract(by_part, "odd").severity == Severity::warning);
  CHECK(extract(by_part, "bad").severity == Severity::error);
  const std::string two =
      "rules: [{name: a, match: x, severity: error}, {name: b, match: x, severity: info}]";
  CHECK(extract(two, "x").severity == Severity::error);
}

TEST_CASE("Rule set: a line that names a cascade is no root") {
  const std::string yaml =
      "rules: [{name: a, match: Error, event: {kind: exception, class: root}},"
      " {name: b, match: 'by peer', event: {kind: peer, class: cascade}}]";
  CHECK(extract(yaml, "Error: closed by peer").events.size() == 1);
  CHECK(extract(yaml, "Error: closed by peer").events[0].klass == "cascade");
  CHECK(extract(yaml, "Error: x").events[0].klass == "root");
}

TEST_CASE("Rule set: only the first 16 KiB of a body are looked at, and any bytes are") {
  const std::string yaml = "rules: [{name: a, match: needle, severity: error}]";
  CHECK(extract(yaml, std::string(RuleSet::kInputCap, 'x') + "needle").empty());
  CHECK(extract(yaml, std::string(100, '\xFF') + std::string(3, '\0') + "needle").severity ==
        Severity::error);
}

TEST_CASE("Rule set: a rule without literals is tried on every line") {
  CHECK(extract("rules: [{name: a, match: 'foo|bar', severity: error}]", "a bar").severity ==
        Severity::error);
}

}  // namespace logarithm
