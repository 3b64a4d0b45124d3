#include <CLI/App.hpp>

#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/nothing_found.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

class QueryVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "query", "Lines of a job, filtered");
    app_->add_option("JOB", first_, "The job (not with --files)");
    app_->add_option("LOGQL", second_, "LogQL: '{rank=\"2\"} | iteration >= 60 |= \"grad_norm\"'");
    filters_.add_to(*app_);
    app_->add_option("--limit", limit_, "At most this many lines")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53));
    app_->add_option("--direction", direction_,
                     "forward: the oldest first; backward: the newest first (default: the newest, "
                     "shown in order of time)")
        ->check(CLI::IsMember({"forward", "backward"}));
    app_->add_flag("--ids", ids_, "Show each line's id, for `context`");
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (ids_ && *output == Output::raw) {
      return usage(
          Error(ErrorCode::invalid, "--output raw gives the bytes of lines, without --ids"));
    }
    if (Status bound = bind_positionals(); !bound.ok()) return usage(bound.error());
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    params->emplace_back("limit", std::to_string(limit_));
    params->emplace_back("direction", direction_.empty() ? "backward" : direction_);
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string path = job_path(files_.used() ? source->job : job_, "lines");
    if (*output == Output::json) {
      auto body = source->api.get(path, *params);
      if (!body.ok()) return fail(body.error());
      StdoutWriter out;
      out.write(*body + "\n");
      return out.finish() ? kExitOk : kExitFailure;
    }
    const int status = print_lines(*source, path, *params, *output, options);
    if (status == kExitOk && shown_ == 0 && *output == Output::text) {
      say_nothing_found(*source, files_.used() ? source->job : job_, "lines");
    }
    return status;
  }

 private:
  // JOB and LOGQL, or with --files only LOGQL (which --files may have taken).
  Status bind_positionals() {
    std::vector<std::string> positionals;
    if (!first_.empty()) positionals.push_back(first_);
    if (!second_.empty()) positionals.push_back(second_);
    LGR_CHECK(files_.check());
    LGR_CHECK(split_files(files_.files, positionals, file_exists));
    if (files_.used()) {
      if (positionals.size() > 1) {
        return Error(ErrorCode::invalid, "with --files there is no JOB, and one LOGQL: '" +
                                             positionals[0] + "', '" + positionals[1] + "'");
      }
      if (!positionals.empty()) filters_.logql = positionals[0];
      return {};
    }
    if (positionals.empty()) return Error(ErrorCode::invalid, "query needs JOB, or --files");
    job_ = positionals[0];
    if (positionals.size() > 1) filters_.logql = positionals[1];
    return {};
  }

  int print_lines(Source& source, const std::string& path, const Params& params, Output output,
                  const Options& options) {
    StdoutWriter out;
    Progress progress(options.terminal);
    LineStyle style;
    style.colour = options.colour;
    style.ids = ids_;
    LinePrinter printer(output, style, [&](std::string_view text) { return out.write(text); });
    if (direction_.empty()) printer.turn_round();
    if (output == Output::text && options.shown) printer.fold(direction_ != "forward");
    auto answer =
        source.api.stream(path, params, "application/x-ndjson", [&](std::string_view piece) {
          if (!options.colour) progress.tick("lines received", printer.lines());
          return printer.feed(piece);
        });
    progress.clear();
    if (!answer.ok()) return fail(answer.error());
    if (Status ended = printer.finish(); !ended.ok()) return fail(ended.error());
    if (!out.finish()) return kExitFailure;
    shown_ = printer.lines();
    warn_incomplete(printer);
    if (!printer.next().empty() && output == Output::text) {
      std::fprintf(stderr, "logarithm: %s of %llu lines reached, there are more\n",
                   app_->count("--limit") != 0 ? "the limit" : "the default --limit",
                   static_cast<unsigned long long>(limit_));
    }
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string first_, second_, job_, direction_;
  std::uint64_t limit_ = 100, shown_ = 0;
  bool ids_ = false;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_query() { return std::make_unique<QueryVerb>(); }

}  // namespace logarithm::cli
