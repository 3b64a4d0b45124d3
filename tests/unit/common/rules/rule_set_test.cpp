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

TEST_CASE("Rule set: what separates two pairs may end the one and begin the other") {
  const std::string yaml = R"(
rules:
  - name: pairs
    match: '^m '
    each: '[ ,](?P<key>[a-z]+(?: [a-z]+)?)[:=] ?(?P<value>\d+(?:\.\d+)?)(?:[ ,]|$)'
)";
  const Extraction found = extract(yaml, "m loss: 1.5 logit scale: 2 a=3,b=4");
  REQUIRE(found.meta.size() == 4);
  CHECK(std::get<double>(find(found, "loss")->value) == 1.5);
  CHECK(std::get<double>(find(found, "logit_scale")->value) == 2);
  CHECK(std::get<double>(find(found, "a")->value) == 3);
  CHECK(std::get<double>(find(found, "b")->value) == 4);
}

TEST_CASE("Rule set: a step that is carried is also the iteration") {
  const std::string head = "rules: [{name: s, match: 'step (?P<step>\\d+)', fields: {step: int}";
  const Extraction carried = extract(head + ", carry: [step]}]", "step 7");
  CHECK(carried.iteration == 7);
  REQUIRE(carried.meta.size() == 1);  // and keeps its name
  CHECK(std::get<std::int64_t>(find(carried, "step")->value) == 7);
  const Extraction plain = extract(head + "}]", "step 7");
  CHECK_FALSE(plain.iteration.has_value());
  CHECK(std::get<std::int64_t>(find(plain, "step")->value) == 7);
}

TEST_CASE("Rule set: first is the group that took part, with its type") {
  const std::string yaml =
      "rules: [{name: f, match: '^(?:r(?P<a>\\d+)|rank (?P<b>\\d+)) ', fields: {a: int, b: int},"
      " first: {rank: [a, b], iteration: [b]}}]";
  const Extraction found = extract(yaml, "rank 3 ");
  CHECK(std::get<std::int64_t>(find(found, "rank")->value) == 3);
  CHECK(found.iteration == 3);
  CHECK(std::get<std::int64_t>(find(extract(yaml, "r4 "), "rank")->value) == 4);
}

TEST_CASE("Rule set: over record applies to the joined record alone") {
  const std::string yaml =
      "rules: [{name: r, over: record, match: '(?s)^a.*\\n(?P<last>\\w+)$', fields: {last: "
      "string}}]";
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build({{"t.yaml", yaml}}, problems);
  Extraction found;
  rules->apply_record("a\nb\nc", "stdout", found);
  CHECK(std::get<std::string>(find(found, "last")->value) == "c");
  rules->apply("a\nb\nc", "stdout", found);
  CHECK(found.empty());
}

TEST_CASE("Rule set: a mapping line names a process and its place") {
  const std::string yaml =
      "rules: [{name: m, match: 'pid=(?P<pid>\\d+) on (?P<host>\\S+): rank "
      "(?P<rank>\\d+)/(?P<world_size>\\d+)',"
      " fields: {pid: int, host: string, rank: int, world_size: int}, maps: process}]";
  const Extraction found = extract(yaml, "pid=12 on n3: rank 4/8");
  REQUIRE(found.mapping.has_value());
  CHECK(found.mapping->pid == 12);
  CHECK(found.mapping->host == "n3");
  CHECK(found.mapping->rank == 4);
  CHECK(found.mapping->world_size == 8);
  CHECK(std::get<std::int64_t>(find(found, "rank")->value) == 4);
  CHECK_FALSE(extract(yaml, "pid=12").mapping.has_value());
}

TEST_CASE(
    "Rule set: a dictionary is parsed, its step is the iteration if it says more in numbers") {
  const std::string yaml =
      "rules: [{name: j, parse: json, match: '\"step\": ', fields: {phase: string},"
      " first: {iteration: [global_step, step]}, carry: [iteration], points: [loss]}]";
  const Extraction found =
      extract(yaml, R"({"step": 7, "loss": NaN, "phase": "train", "x": {"y": 1}})");
  CHECK(found.iteration == 7);
  CHECK(found.carry_iteration);
  CHECK(std::get<std::string>(find(found, "phase")->value) == "train");
  CHECK(std::isnan(std::get<double>(find(found, "loss")->value)));
  CHECK(find(found, "loss")->point);
  CHECK(find(found, "x_y") != nullptr);
  CHECK_FALSE(extract(yaml, R"({"step": 7, "text": "do this"})").iteration.has_value());
  CHECK(extract(yaml, R"({"step": 7, "loss": )").empty());
}

TEST_CASE("Rule set: a field of type time gives the line a time, file and line a call site") {
  const std::string yaml =
      "rules: [{name: t, match: 'AT (?P<ts>\\S+) IN (?P<file>\\S+):(?P<line>\\d+)',"
      " fields: {ts: time, file: string, line: int}}]";
  const Extraction found = extract(yaml, "AT 2026-03-04T05:06:07 IN a/b.cc:12");
  REQUIRE(found.time.has_value());
  CHECK(found.time->month == 3);
  CHECK(found.time->second == 7);
  CHECK(found.callsite == "a/b.cc:12");
  CHECK_FALSE(extract(yaml, "AT noon IN a:1").time.has_value());
}

TEST_CASE("Rule set: what a rule cost is counted from samples") {
  std::vector<RuleProblem> problems;
  RuleSet::Options every;
  every.sample_every = 1;
  const auto rules = RuleSet::build(
      {{"t.yaml", "rules: [{name: a, match: 'x\\d'}, {name: b, match: y}]"}}, problems, every);
  Extraction found;
  rules->apply("x1", "stdout", found);
  rules->apply("xx", "stdout", found);
  const auto costs = rules->costs();
  REQUIRE(costs.size() == 2);
  CHECK(costs[0].name == "a");
  CHECK(costs[0].hits == 1);
  CHECK(costs[0].runs == 2);
  CHECK(costs[0].seconds > 0);
  CHECK(costs[1].runs == 0);
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
