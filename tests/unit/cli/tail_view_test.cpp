#include "cli/tail_view.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

std::string line(const std::string& stream, const std::string& text, const std::string& flags) {
  return R"({"id":")" + stream + R"(:5","rank":3,"text":")" + text + R"(","flags":[)" + flags +
         "]}";
}
std::string line(const std::string& stream, const std::string& text, bool progress = false) {
  return line(stream, text, std::string(progress ? R"("progress")" : ""));
}
const std::string kPartial = R"("partial")", kGlued = R"("glued")",
                  kReturned = R"("glued","progress")";

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

// What a bar looks like whose next state takes longer than a line is waited for.
void slow_bar(TailView& view) {
  view.add(line("a", "", true));
  view.add(line("a", " 0%", kPartial));
  view.add(line("a", "", kReturned));
  view.add(line("a", "50%", kPartial));
  view.add(line("a", "", kReturned));
}

TEST_CASE("TailView: a slow bar, which comes in pieces, is one bar") {
  TailView piped(Output::text, LineStyle(), {});
  slow_bar(piped);
  CHECK(piped.draw() == "");
  piped.add(line("a", "done"));
  CHECK(piped.draw() == "r3 50%\nr3 done\n");

  TailView screen(Output::text, LineStyle(), [] { return ScreenSize{10, 40}; });
  slow_bar(screen);
  CHECK(screen.draw() == "r3 50%\n");
  screen.add(line("a", "100%", kPartial));
  screen.add(line("a", "", kGlued));
  CHECK(screen.draw() == "\033[1A\r\033[Jr3 100%\n");
}

TEST_CASE("TailView: an unfinished line is shown at once, and joined where it can be") {
  TailView piped(Output::text, LineStyle(), {});
  piped.add(line("a", "last wor", kPartial));
  CHECK(piped.draw() == "r3 last wor\n");
  piped.add(line("a", "ds", kGlued));
  piped.add(line("a", "", kGlued));
  CHECK(piped.draw() == "r3 ds\n");

  TailView screen(Output::text, LineStyle(), [] { return ScreenSize{10, 40}; });
  screen.add(line("a", "loading ", kPartial));
  CHECK(screen.draw() == "r3 loading \n");
  screen.add(line("b", "other"));
  screen.add(line("a", "done", kGlued));
  CHECK(screen.draw() == "\033[1A\r\033[Jr3 other\nr3 loading done\n");
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
