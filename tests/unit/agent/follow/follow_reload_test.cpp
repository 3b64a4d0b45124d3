#include <doctest/doctest.h>

#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {
namespace {

const std::string kSecret = "hf_" + std::string(34, 'B');

std::shared_ptr<const RuleSet> rules_of(const std::string& yaml) {
  std::vector<RuleProblem> problems;
  auto out = RuleSet::build({{"r.yaml", yaml}}, problems);
  REQUIRE(problems.empty());
  return out;
}

bool has_key(const Line& line, const std::string& key) {
  for (const MetaPair& pair : line.meta) {
    if (pair.key == key) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("Reload: other rules hold from the next line on, and the former set is not needed") {
  FollowFixture f;
  f.append("a.log", "step 1\n");
  f.glob("a.log");
  f.run();
  {
    auto former = rules_of("rules: [{name: s, match: 'step (?P<step>\\d+)', fields: {step: int}}]");
    f.follower().set_rules(*former);
    f.append("a.log", "step 2\n");
    f.run();
    auto newer = rules_of("rules: [{name: w, match: 'step (?P<walk>\\d+)', fields: {walk: int}}]");
    f.follower().set_rules(*newer);
    former.reset();
    f.append("a.log", "step 3\n");
    f.run();
  }
  REQUIRE(f.streams().size() == 1);
  const std::vector<Line>& lines = f.streams()[0]->lines;
  REQUIRE(lines.size() == 3);
  CHECK(!has_key(lines[0], "step"));
  CHECK(has_key(lines[1], "step"));
  CHECK(!has_key(lines[2], "step"));
  CHECK(has_key(lines[2], "walk"));
  f.follower().set_rules(*FollowFixture::rules());
}

TEST_CASE("Reload: an unfinished line is read once, by the rules of its end") {
  FollowFixture f;
  f.append("a.log", "token " + kSecret.substr(0, 10));
  f.glob("a.log");
  f.run();
  auto redacting = rules_of("rules: [{name: t, redact: 'hf_[A-Za-z0-9]{20,}'}]");
  f.follower().set_rules(*redacting);
  f.append("a.log", kSecret.substr(10) + " end\n");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"token [redacted] end"});
  CHECK(f.log.problems.empty());
  f.follower().set_rules(*FollowFixture::rules());
}

TEST_CASE("Reload: a head that was kept before a secret was known to be one is masked") {
  FollowFixture f;
  f.append("a.log", "token " + kSecret + "\n");
  f.glob("a.log");
  f.run();
  auto redacting = rules_of("rules: [{name: t, redact: 'hf_[A-Za-z0-9]{20,}'}]");
  f.follower().set_rules(*redacting);
  f.append("a.log", "more\n");
  f.run();
  REQUIRE(f.streams().size() == 1);
  CHECK(f.streams()[0]->checkpoint.head.find("hf_") == std::string::npos);
  f.follower().set_rules(*FollowFixture::rules());
}

TEST_CASE("Reload: between any two of a rotation's steps nothing is lost or repeated") {
  auto first = rules_of("rules: [{name: s, match: 'line (?P<n>\\d+)', fields: {n: int}}]");
  auto second = rules_of("rules: [{name: s, match: 'run$', severity: error}]");
  for (int at = 0; at < 12; ++at) {
    FollowFixture f;
    CAPTURE(at);
    int step = 0;
    const auto reload = [&] {
      if (step++ == at) f.follower().set_rules(*second);
      f.step();
    };
    f.glob("a.log");
    f.follower().set_rules(*first);
    f.append("a.log", numbered(0, 5));
    f.glob("a.log");
    reload();
    reload();
    f.rename("a.log", "a.log.1");
    reload();
    f.append("a.log.1", numbered(5, 5));
    reload();
    f.append("a.log", numbered(10, 5));
    reload();
    f.glob("a.log");
    reload();
    f.copy("a.log", "a.log.2");
    reload();
    f.cut("a.log");
    reload();
    f.append("a.log", numbered(15, 5));
    f.glob("a.log");
    reload();
    for (int i = 0; i < 100; ++i) f.run(std::chrono::milliseconds(100));
    std::multiset<std::string> seen, wanted;
    for (const std::string& text : f.texts()) seen.insert(text);
    for (int i = 0; i < 20; ++i) wanted.insert("line " + std::to_string(i) + " of the run");
    CHECK(seen == wanted);
    CHECK(f.log.problems.empty());
    f.follower().set_rules(*FollowFixture::rules());
  }
}

}  // namespace logarithm::test
