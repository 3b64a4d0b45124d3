#include "common/line/ansi.h"

#include <doctest/doctest.h>

namespace logarithm {

TEST_CASE("ANSI: case 39: colours leave the text, so that words are whole again") {
  CHECK(strip_ansi("\x1b[31merr\x1b[0mor") == "error");
  CHECK(strip_ansi("\x1b[38;2;180;60;0mgrad_norm:\x1b[39m 1") == "grad_norm: 1");
}

TEST_CASE("ANSI: titles, cursor moves and short sequences leave too") {
  CHECK(strip_ansi("\x1b]0;title\a-\x1b]8;;x\x1b\\link\x1b[2K\x1b[1A\x1b(B\x1b"
                   "7.") == "-link.");
}

TEST_CASE("ANSI: a sequence that is cut off or malformed stays") {
  for (const char* text : {"a\x1b", "a\x1b[31", "a\x1b[3\n", "a\x1b]0;never ends", "\x1b\x1b"}) {
    CAPTURE(std::string(text));
    CHECK(strip_ansi(text) == text);
  }
}

TEST_CASE("ANSI: positions of the stripped text map back to the raw bytes") {
  const std::string raw = "\x1b[31merr\x1b[0mor\x1b[m";
  const StrippedText stripped(raw);
  REQUIRE(stripped.text() == "error");
  for (std::size_t i = 0; i < stripped.text().size(); ++i) {
    CHECK(raw[stripped.to_raw(i)] == stripped.text()[i]);
  }
  CHECK(stripped.to_raw(5) == raw.size());
  CHECK(StrippedText("").to_raw(0) == 0);
}

}  // namespace logarithm
