#include "cli/tail_view.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

std::string line(const std::string& stream, const std::string& text, bool progress = false) {
  return R"({"id":")" + stream + R"(:5","rank":3,"text":")" + text + R"(","flags":[)" +
         (progress ? R"("progress")" : "") + "]}";
}

TEST_CASE("TailView: away from a terminal a run of redraws is its last one") {
  TailView view(Output::text, LineStyle(), {});
  view.add(line("a", "10%", true));
  view.add(line("b", "other"));
  view.add(line("a", "20%", true));
  CHECK(view.draw() == "r3 other\n");
  view.add(line("a", "done"));
  view.add(line("b", "5%", true));

  CHECK(view.draw() == "r3 20%\nr3 done\n");
  CHECK(view.finish() == "r3 5%\n");
}

TEST_CASE("TailView: ndjson is every line as it came") {
  TailView view(Output::ndjson, LineStyle(), {});
  view.add(line("a", "10%", true));
  view.add(line("a", "20%", true));

  CHECK(view.draw() == line("a", "10%", true) + "\n" + line("a", "20%", true) + "\n");
}

TEST_CASE("TailView: on a terminal bars are redrawn in place, below the lines") {
  TailView view(Output::text, LineStyle(), [] { return ScreenSize{10, 12}; });
  view.add(line("a", "10%", true));
  view.add(line("b", "a very long progress bar", true));
  CHECK(view.draw() == "r3 10%\nr3 a very l\n");

  view.add(line("a", "20%", true));
  view.add(line("c", "hello"));
  CHECK(view.draw() == "\033[2A\r\033[Jr3 hello\nr3 20%\nr3 a very l\n");

  view.add(line("a", "done"));
  view.add(line("b", "done"));
  CHECK(view.draw() == "\033[2A\r\033[Jr3 20%\nr3 done\nr3 a very long progress bar\nr3 done\n");
  CHECK(view.draw().empty());
}

TEST_CASE("TailView: no more bars are drawn than half of the screen, those that changed last") {
  TailView view(Output::text, LineStyle(), [] { return ScreenSize{4, 80}; });
  for (const char* stream : {"a", "b", "c"}) view.add(line(stream, stream, true));

  CHECK(view.draw() == "r3 b\nr3 c\n");
}

TEST_CASE("fit_columns: never cuts a character, and counts wide ones twice") {
  CHECK(fit_columns("abc", 2) == "ab");
  CHECK(fit_columns("abc", 5) == "abc");
  CHECK(fit_columns("\u2588\u2588\u2588", 2) == "\u2588\u2588");
  CHECK(fit_columns("\u4fee\u590d", 3) == "\u4fee");
  CHECK(fit_columns("\xF0\x9F", 3) == "\xF0\x9F");
}

}  // namespace
}  // namespace logarithm::cli
