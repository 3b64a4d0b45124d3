#include <doctest/doctest.h>

#include <random>
#include <string>

#include "common/rules/rule_set.h"
#include "tests/support/mutate.h"

namespace logarithm {
namespace {

TEST_CASE("Rules: of 10,000 mutated rule files none crashes, and what is refused says where") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  // Small files, so that most mutations hit something; every key of a rule occurs.
  const std::string file = R"(rules:
  - name: iteration
    match: '^iteration (?P<iteration>\d+) \|(?P<rest>.*)$'
    fields: {iteration: int, rest: string}
    each: '(?P<key>[a-z_]+) (?P<value>[-+.\deE]+) \|'
    carry: [iteration]
    points: [loss]
  - name: xid
    streams: [kernel, stdout]
    match: 'Xid \(PCI:(?P<pci>[0-9a-f:]+)\): (?P<level>\w+)'
    set: {component: gpu}
    severity: {level: error}
    event: {kind: xid, class: root}
)";
  std::size_t refused = 0, kept = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string yaml = file;
    test::mutate(yaml, random);
    std::vector<RuleProblem> problems;
    const auto rules = RuleSet::build({{"mutated.yaml", yaml}}, problems);
    refused += problems.size();
    kept += rules->size();
    for (const auto& problem : problems) {
      REQUIRE(problem.to_string().find("mutated.yaml") != std::string::npos);
    }
    Extraction found;
    rules->apply("iteration 60 | loss 0.5 | grad_norm nan |", "stdout", found);
  }
  CHECK(refused > 100);
  CHECK(kept > 1000);
}

}  // namespace
}  // namespace logarithm
