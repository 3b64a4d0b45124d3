#include "common/line/line.h"

#include <doctest/doctest.h>

namespace logarithm {

TEST_CASE("Severity: words of every case and the loggers' letters are known") {
  CHECK(parse_severity("WARN") == Severity::warning);
  CHECK(parse_severity("Warning") == Severity::warning);
  CHECK(parse_severity("CRITICAL") == Severity::fatal);
  CHECK(parse_severity("SUCCESS") == Severity::info);
  CHECK(parse_severity("I") == Severity::info);
  CHECK(parse_severity("V") == Severity::debug);
  CHECK_FALSE(parse_severity("").has_value());
  CHECK_FALSE(parse_severity("informational").has_value());
}

TEST_CASE("Severity: each has a name that is read back") {
  for (int i = 1; i <= 6; ++i) {
    const auto severity = static_cast<Severity>(i);
    CHECK(parse_severity(to_string(severity)) == severity);
  }
  CHECK(to_string(Severity::unset) == "");
}

TEST_CASE("Line: text and body are cut from the stripped bytes") {
  Line line;
  line.raw = "\x1b[1m[rank3]: E x";
  line.flags = line_flag::ansi;
  line.header_begin = 9;
  line.body_begin = 11;
  CHECK(text_of(line) == "[rank3]: E x");
  CHECK(body_of(line) == "x");
}

}  // namespace logarithm
