#include "cli/line_printer.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

const std::string kPage =
    "{\"id\":\"a:0\",\"time\":\"t\",\"text\":\"one\"}\n"
    "{\"id\":\"a:4\",\"time\":\"t\",\"text\":\"two\"}\n"
    "{\"end\":{\"next\":\"c1\",\"completeness\":{\"complete\":false,\"reasons\":[\"lag\"]}}}\n";

struct Printed {
  std::string text;
  LinePrinter printer;
  explicit Printed(Output output)
      : printer(output, LineStyle(), [this](std::string_view piece) {
          text += piece;
          return true;
        }) {}
};

}  // namespace

TEST_CASE("LinePrinter: pieces cut anywhere give the same lines") {
  for (std::size_t cut = 1; cut <= kPage.size(); ++cut) {
    CAPTURE(cut);
    Printed out(Output::raw);
    for (std::size_t at = 0; at < kPage.size(); at += cut) {
      CHECK(out.printer.feed(std::string_view(kPage).substr(at, cut)));
    }
    CHECK(out.printer.finish().ok());
    CHECK(out.text == "one\ntwo\n");
    CHECK(out.printer.lines() == 2);
    CHECK(out.printer.next() == "c1");
    CHECK_FALSE(out.printer.complete());
    CHECK(out.printer.reasons() == std::vector<std::string>{"lag"});
  }
}

TEST_CASE("LinePrinter: ndjson gives the records as they came, without the end record") {
  Printed out(Output::ndjson);
  out.printer.feed(kPage);
  CHECK(out.printer.finish().ok());
  CHECK(out.text == kPage.substr(0, kPage.find("{\"end\"")));
}

TEST_CASE("LinePrinter: turned round, the last line comes first") {
  Printed out(Output::raw);
  out.printer.turn_round();
  out.printer.feed(kPage);
  CHECK(out.text.empty());
  CHECK(out.printer.finish().ok());
  CHECK(out.text == "two\none\n");
}

TEST_CASE("LinePrinter: an error record, a torn answer and garbage are errors") {
  Printed error(Output::raw);
  error.printer.feed("{\"error\":{\"status\":504,\"detail\":\"deadline passed\"}}\n");
  Status failed = error.printer.finish();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message() == "deadline passed");

  Printed torn(Output::raw);
  torn.printer.feed("{\"id\":\"a:0\",\"text\":\"one\"}\n{\"id\":");
  CHECK_FALSE(torn.printer.finish().ok());

  Printed garbage(Output::raw);
  CHECK_FALSE(garbage.printer.feed("<html>\n"));
  CHECK_FALSE(garbage.printer.finish().ok());
}

TEST_CASE("LinePrinter: a reader that has gone stops it without an error") {
  LinePrinter printer(Output::raw, LineStyle(), [](std::string_view) { return false; });
  CHECK_FALSE(printer.feed(kPage));
  CHECK(printer.finish().ok());
}

}  // namespace logarithm::cli
