#include <doctest/doctest.h>

#include <string>

#include "common/line/line.h"
#include "tests/support/block_tools.h"
#include "tests/support/random_lines.h"
#include "tests/unit/common/line/parser_fixture.h"

// Lines joined from a container's pieces: what the parser makes of them survives a block.
namespace logarithm {
namespace {

using namespace test;

std::string docker(const char* output, const std::string& escaped) {
  return "{\"log\":\"" + escaped + "\",\"stream\":\"" + output +
         "\",\"time\":\"2026-03-04T05:06:07.448120903Z\"}\n";
}

}  // namespace

TEST_CASE("Block: joined lines come back with pieces, output and text, interleaved ones too") {
  std::string file;
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    file += docker("stdout", "[rank3]: step " + n + " \\\"a\\\" ") +
            docker("stderr", "e" + n + " ") + docker("stdout", "\\u00e9 end\\n") +
            docker("stderr", "\\u001b[31mf\\u001b[0m\\n");
    file += "2026-03-04T05:06:07.5Z stdout P one " + n + "\n2026-03-04T05:06:07.5Z stderr F x\n" +
            "2026-03-04T05:06:07.5Z stdout F two\n";
  }
  ParsedStream stream;
  const auto lines = stream.whole(file);
  REQUIRE(lines.size() == 200);

  const auto got = decode(encode(lines), BlockPart::facts | BlockPart::fields | BlockPart::text);

  REQUIRE(got.size() == lines.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(difference(lines[i], got[i]) == "");
    CHECK(text_of(got[i]) == text_of(lines[i]));
  }
  CHECK(exported(got) == file);
  CHECK(text_of(got[0]) == "[rank3]: step 0 \"a\" \xc3\xa9 end");
  CHECK(text_of(got[1]) == "e0 f");
}

}  // namespace logarithm
