#include "common/rules/candidates.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "common/rules/rule_loader.h"

namespace logarithm {
namespace {

std::vector<Rule> rules_of(const std::vector<RuleSet::Source>& sources) {
  std::vector<RuleProblem> problems;
  std::vector<Rule> all;
  for (const auto& source : sources) {
    for (Rule& rule : load_rules(source, problems)) all.push_back(std::move(rule));
  }
  REQUIRE(problems.empty());
  return all;
}

const Regex& pattern_of(const Rule& rule) {
  return rule.redact ? *rule.redact : rule.match ? *rule.match : *rule.each;
}

bool holds(const std::vector<std::uint16_t>& list, std::uint16_t number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

}  // namespace

TEST_CASE("Candidates: the part of a literal that no mask touches") {
  const std::pair<const char*, const char*> cases[] = {
      {"watchdog caught", "watchdog caught"},
      {"xid (pci:", "xid (pci:"},
      {"rank3]: ", "rank"},
      {"(exitcode: -", "(exitcode: "},
      {"deadbeef", ""},
      {"is nan for", " for"},
      {"v1.2.3 step", " step"},
      {"oom. gpu", "oom. gpu"},
      {"0x", ""},
      {"- init", "- "},
      {"-inf x", " "},
  };
  for (const auto& [literal, part] : cases) {
    CAPTURE(std::string(literal));
    CHECK(unmasked_part(literal) == part);
  }
}

TEST_CASE("Candidates: the template never rules out a rule that hits the body") {
  const auto rules = rules_of(RuleSet::shipped());
  std::vector<bool> wanted(rules.size(), true);
  Candidates candidates;
  candidates.build(rules, wanted);
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  // Pieces of what the rules look for, numbers, quotes and paths, put together at random.
  std::vector<std::string> pieces{"1.5", "-3",   "0x1f", "deadbeef01", "nan", "'", "\"",
                                  " ",   ": ",   "/a/b", "=",          "|",   "]", "[",
                                  "e5",  "-inf", ",",    "x",          "\x01"};
  for (const Rule& rule : rules) {
    const Regex& regex = pattern_of(rule);
    for (const auto& literal : regex.required_any()) pieces.push_back(literal);
    for (const auto& literal : regex.required_literals()) pieces.push_back(literal);
  }
  for (int round = 0; round < 2000; ++round) {
    std::string body;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) body += pieces[random() % pieces.size()];
    MaskedBody masked;
    mask_body(body, masked);
    const std::vector<std::uint16_t> plain = candidates.find(body);
    for (int time = 0; time < 18; ++time) {
      const auto& known = candidates.find(body, masked, fingerprint(masked.text));
      if (time > 0 && time < 15) continue;  // from the scan; from the shape; from memory
      for (std::uint16_t number = 0; number < rules.size(); ++number) {
        const Regex& regex = pattern_of(rules[number]);
        CAPTURE(body);
        CAPTURE(rules[number].name);
        if (!holds(plain, number)) CHECK_FALSE(regex.search(body));
        if (!holds(known, number)) CHECK_FALSE(regex.search(body));
      }
    }
  }
}

TEST_CASE("Candidates: a shipped rule is looked for by words, not tried on every line") {
  const auto rules = rules_of(RuleSet::shipped());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::vector<bool> wanted(rules.size(), false);
    wanted[i] = true;
    Candidates candidates;
    candidates.build(rules, wanted);
    CAPTURE(rules[i].name);
    MaskedBody masked;
    mask_body("", masked);
    CHECK(candidates.find("").empty());
    if (!rules[i].redact) CHECK(candidates.find("", masked, i + 1).empty());
  }
}

}  // namespace logarithm
