#include "cli/export_lines.h"

#include <cstdio>

#include "cli/line_printer.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

constexpr std::size_t kPage = 10'000;

}  // namespace

int export_lines(ApiClient& api, const std::string& path, const Params& params, std::string cursor,
                 const Options& options) {
  StdoutWriter out;
  Progress progress(options.terminal);
  std::uint64_t lines = 0;
  for (;;) {
    Params page = params;
    page.emplace_back("direction", "forward");
    page.emplace_back("limit", std::to_string(kPage));
    if (!cursor.empty()) page.emplace_back("cursor", cursor);
    std::string text;
    LinePrinter printer(Output::ndjson, LineStyle(), [&](std::string_view line) {
      text += line;
      return true;
    });
    auto answer = api.stream(path, page, "application/x-ndjson", [&](std::string_view piece) {
      progress.tick("lines", lines + printer.lines());
      return printer.feed(piece);
    });
    Status ended = answer.ok() ? printer.finish() : Status(answer.error());
    progress.clear();
    if (!ended.ok()) {
      fail(ended.error());
      if (lines != 0) {
        std::fprintf(stderr, "logarithm: %llu lines were written; go on with --cursor %s\n",
                     static_cast<unsigned long long>(lines), cursor.c_str());
      }
      return kExitFailure;
    }
    lines += printer.lines();
    if (!out.write(text) || !out.finish()) return kExitFailure;
    if (printer.next().empty()) {
      warn_incomplete(printer);
      return kExitOk;
    }
    cursor = printer.next();
  }
}

}  // namespace logarithm::cli
