#include "cli/line_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

const char* kLine = R"({"id":"00ff.0:17","time":"2026-11-30T04:33:29.123456789Z","attempt":1,
  "rank":2,"stream":"stderr","severity":"error","text":"boom\u001b[31m"})";

}  // namespace

TEST_CASE("line_text: shows what is known, in one order") {
  const auto line = nlohmann::json::parse(kLine);

  CHECK(line_text(line, LineStyle()) == "2026-11-30T04:33:29.123Z a1 r2 stderr ERROR boom\x1b[31m");
  const auto bare = nlohmann::json::parse(R"({"time":"2026-11-30T04:33:29Z","text":"x"})");
  CHECK(line_text(bare, LineStyle()) == "2026-11-30T04:33:29Z x");
}

TEST_CASE("line_text: a terminal gets colour for the severity and none of the log's own controls") {
  LineStyle style;
  style.colour = true;

  const std::string text = line_text(nlohmann::json::parse(kLine), style);

  CHECK(text.find("\033[31mERROR\033[0m") != std::string::npos);
  CHECK(text.ends_with("boom\\x1b[31m"));
}

TEST_CASE("line_text: the asked line is marked, ids are shown on demand") {
  LineStyle style;
  style.ids = true;
  style.mark = "00ff.0:17";
  CHECK(line_text(nlohmann::json::parse(kLine), style).starts_with("> 00ff.0:17 2026-"));
  style.mark = "00ff.0:18";
  CHECK(line_text(nlohmann::json::parse(kLine), style).starts_with("  00ff.0:17 2026-"));
}

TEST_CASE("visible: keeps text and tabs, spells controls") {
  CHECK(visible("a\tb\r\x7f é") == "a\tb\\x0d\\x7f é");
}

}  // namespace logarithm::cli
