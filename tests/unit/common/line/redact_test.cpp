#include "common/line/redact.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/common/line/parser_fixture.h"

using namespace logarithm;
using namespace logarithm::test;

namespace {

ParsedStream with_tokens() {
  ParsedStream stream;
  std::vector<RuleProblem> problems;
  stream.rules =
      RuleSet::build({{"t.yaml", "rules: [{name: t, redact: 'hf_[A-Za-z0-9]{20,}'}]"}}, problems);
  REQUIRE(problems.empty());
  stream.restart(0, "");
  return stream;
}

const std::string kSecret = "hf_abcdefghijklmnopqrstuvwx";

// Nothing of the secret's second half is left anywhere, and the masked bytes are gaps.
void check_gone(const ParsedStream& stream, const std::string& what) {
  CAPTURE(what);
  REQUIRE_FALSE(stream.out.lines.empty());
  for (const Line& line : stream.out.lines) {
    CHECK(line.raw.find("opqrstuvwx") == std::string::npos);
    CHECK(text_of(line).find("opqrstuvwx") == std::string::npos);
  }
  CHECK(stream.out.lines[0].has(line_flag::redacted));
  REQUIRE_FALSE(stream.out.gaps.empty());
  std::uint64_t end = 0;
  for (const Gap& gap : stream.out.gaps) {
    CHECK(gap.reason == "redacted");
    CHECK(gap.from >= end);
    REQUIRE(gap.to);
    CHECK(*gap.to > gap.from);
    end = *gap.to;
  }
  CHECK(end <= stream.out.lines.back().end());
}

std::string docker(const std::string& log) {
  return R"({"log":")" + log + R"(","stream":"stdout","time":"2026-03-04T05:06:07.448120903Z"})" +
         "\n";
}
std::string cri(const std::string& flag, const std::string& text) {
  return "2026-03-04T05:06:07.448120903Z stdout " + flag + " " + text + "\n";
}

}  // namespace

TEST_CASE("Redaction: a secret is masked behind every wrapper") {
  for (const std::string& bytes :
       {kSecret + "\n", "[rank3]:token " + kSecret + " end\n", docker("use " + kSecret + " now\\n"),
        R"({"stream": "stdout", "time": "2026-03-04T05:06:07Z", "log": "use )" + kSecret +
            R"(\n"})" + "\n",
        cri("F", "use " + kSecret)}) {
    ParsedStream stream = with_tokens();
    stream.whole(bytes);
    check_gone(stream, bytes);
  }
}

TEST_CASE("Redaction: a secret cut by a container's pieces, by colours or by escapes is masked") {
  const std::string first = kSecret.substr(0, 12), second = kSecret.substr(12);
  for (const std::string& bytes : {cri("P", "use " + first) + cri("F", second + " now"),
                                   docker("use " + first) + docker(second + " now\\n"),
                                   "use " + first + "\x1b[31m" + second + "\n",
                                   docker("use h\\u0066_" + kSecret.substr(3) + "\\n")}) {
    ParsedStream stream = with_tokens();
    stream.whole(bytes);
    check_gone(stream, bytes);
    CHECK(stream.out.lines.size() == 1);
  }
}

TEST_CASE("Redaction: lines without a secret are as they were, whatever they are wrapped in") {
  for (const std::string& bytes :
       {std::string("plain hf_short\n"), docker("a\\tb\\n"), cri("P", "one ") + cri("F", "two"),
        std::string("\x1b[31mred\x1b[0m\n")}) {
    ParsedStream stream = with_tokens();
    stream.whole(bytes);
    CHECK(exported(stream.out.lines) == bytes);
    CHECK(stream.out.gaps.empty());
  }
}
