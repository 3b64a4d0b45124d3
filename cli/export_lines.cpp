#include "cli/export_lines.h"

#include <algorithm>
#include <cstdio>

#include "cli/line_printer.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

constexpr std::uint64_t kPage = 10'000;

// The options that go on behind what was written.
std::string to_go_on(const ExportPaging& paging) {
  return (paging.direction == "forward" ? "" : "--direction " + paging.direction + " ") +
         "--cursor " + paging.cursor;
}

}  // namespace

int export_lines(ApiClient& api, const std::string& path, const Params& params, ExportPaging paging,
                 const Options& options) {
  StdoutWriter out;
  Progress progress(options.terminal);
  std::uint64_t lines = 0;
  for (;;) {
    Params page = params;
    page.emplace_back("direction", paging.direction);
    const std::uint64_t most = paging.limit == 0 ? kPage : std::min(kPage, paging.limit - lines);
    page.emplace_back("limit", std::to_string(most));
    if (!paging.cursor.empty()) page.emplace_back("cursor", paging.cursor);
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
        std::fprintf(stderr, "logarithm: %llu lines were written; go on with %s\n",
                     static_cast<unsigned long long>(lines), to_go_on(paging).c_str());
      }
      return kExitFailure;
    }
    lines += printer.lines();
    if (!out.write(text) || !out.finish()) return kExitFailure;
    if (printer.next().empty()) {
      warn_incomplete(printer);
      return kExitOk;
    }
    paging.cursor = printer.next();
    if (lines == paging.limit) {
      warn_incomplete(printer);
      std::fprintf(stderr, "logarithm: the limit of %llu lines reached, there are more: %s\n",
                   static_cast<unsigned long long>(lines), to_go_on(paging).c_str());
      return kExitOk;
    }
  }
}

}  // namespace logarithm::cli
