#include "cli/redraw_fold.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/line_printer.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

Json line(const std::string& stream, const std::string& text, bool redraw = false) {
  Json out = {{"id", stream + ":0"}, {"time", "t"}, {"text", text}, {"flags", Json::array()}};
  if (redraw) out["flags"].push_back("progress");
  return out;
}

const std::vector<Json> kLines = {
    line("a", "begin"),     line("a", "10%", true), line("b", "other"), line("a", "", true),
    line("b", "1/2", true), line("a", "50%", true), line("a", "done"),  line("a", "1", true),
    line("a", "2", true),   line("b", "2/2", true)};

std::string records(bool newest_first) {
  std::vector<Json> lines = kLines;
  if (newest_first) std::reverse(lines.begin(), lines.end());
  std::string out;
  for (const Json& one : lines) out += one.dump() + "\n";
  return out + R"({"end":{"next":null,"completeness":{"complete":true,"reasons":[]}}})" + "\n";
}

std::vector<std::string> printed(Output output, bool newest_first, bool turned, bool folded) {
  std::vector<std::string> out;
  LinePrinter printer(output, LineStyle(), [&](std::string_view piece) {
    out.emplace_back(piece.substr(piece.rfind(' ') + 1));
    return true;
  });
  if (turned) printer.turn_round();
  if (folded) printer.fold(newest_first);
  printer.feed(records(newest_first));
  REQUIRE(printer.finish().ok());
  return out;
}

}  // namespace

TEST_CASE("RedrawFold: case 37, of a run of redraws the last is shown, per stream") {
  RedrawFold fold;
  std::vector<std::string> out;
  for (const Json& one : kLines) {
    for (std::string& text : fold.next(one, one["text"])) out.push_back(std::move(text));
  }
  for (std::string& text : fold.rest()) out.push_back(std::move(text));
  CHECK(out == std::vector<std::string>{"begin", "other", "50%", "done", "2", "2/2"});
  CHECK(fold.rest().empty());
}

TEST_CASE("RedrawFold: the same lines are shown whatever end they come from") {
  for (const bool turned : {false, true}) {
    std::vector<std::string> forward = printed(Output::text, false, false, true);
    std::vector<std::string> backward = printed(Output::text, true, turned, true);
    CHECK(forward.size() == 6);
    std::sort(forward.begin(), forward.end());
    std::sort(backward.begin(), backward.end());
    CHECK(forward == backward);
  }
}

TEST_CASE("RedrawFold: data, and text that nobody looks at, keep every redraw") {
  for (const Output output : {Output::ndjson, Output::raw, Output::text}) {
    CHECK(printed(output, false, false, output != Output::text).size() == kLines.size());
  }
}

}  // namespace logarithm::cli
