#include <doctest/doctest.h>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

const std::string kToken = "hf_" + std::string(34, 'A');

struct Parsed {
  ParsedLines out;
  std::string yaml =
      "rules: [{name: t, redact: 'hf_[A-Za-z0-9]{20,}'},"
      " {name: p, redact: 'password=(?P<secret>\\S+)'},"
      " {name: e, match: 'token (?P<token>\\S+)', fields: {token: string}}]";

  explicit Parsed(const std::string& bytes) {
    std::vector<RuleProblem> problems;
    const auto rules = RuleSet::build({{"r.yaml", yaml}}, problems);
    REQUIRE(problems.empty());
    LongLinePool pool;
    auto parser = StreamParser::make({}, *rules, pool, 0, "");
    REQUIRE(parser.ok());
    (*parser)->feed(bytes, 1, out);
    (*parser)->flush(StreamParser::Flush::closed, 1, out);
  }
};

}  // namespace

TEST_CASE("Redaction: a secret is in nothing that leaves the parser, and its bytes are a gap") {
  const Parsed parsed("first\nuse token " + kToken + " and " + kToken + ".\nlast\n");
  REQUIRE(parsed.out.lines.size() == 3);
  const Line& line = parsed.out.lines[1];
  CHECK(line.raw == "use token [redacted] and [redacted].");
  CHECK(line.length == 10 + 37 + 5 + 37 + 1 + 1);
  CHECK(line.has(line_flag::redacted));
  CHECK_FALSE(parsed.out.lines[0].has(line_flag::redacted));
  REQUIRE(line.meta.size() == 1);
  CHECK(std::get<std::string>(line.meta[0].value) == "[redacted]");
  REQUIRE(parsed.out.gaps.size() == 2);
  CHECK(parsed.out.gaps[0] == Gap{16, 53, "redacted", 1});
  CHECK(parsed.out.gaps[1] == Gap{58, 95, "redacted", 1});
  CHECK(parsed.out.lines[2].offset == line.end());
}

TEST_CASE("Redaction: the group `secret` is what is masked, overlapping spans are one") {
  const Parsed parsed("user=me password=" + kToken + "!x ok\n");
  REQUIRE(parsed.out.lines.size() == 1);
  CHECK(parsed.out.lines[0].raw == "user=me password=[redacted] ok");
  CHECK(parsed.out.gaps.size() == 1);
}

TEST_CASE("Redaction: lines with the same secret masked have the same template") {
  const Parsed parsed("a hf_" + std::string(30, 'x') + "\na hf_" + std::string(25, 'y') + "\n");
  REQUIRE(parsed.out.lines.size() == 2);
  CHECK(parsed.out.lines[0].template_id == parsed.out.lines[1].template_id);
}

TEST_CASE("Redaction: the whole line is looked at, however long") {
  const Parsed parsed(std::string(200'000, '.') + kToken + "\n");
  REQUIRE(parsed.out.lines.size() == 1);
  CHECK(parsed.out.lines[0].raw.find("hf_") == std::string::npos);
}

}  // namespace logarithm
