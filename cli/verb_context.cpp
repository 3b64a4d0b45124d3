#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/line_printer.h"
#include "cli/redraw_fold.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

class ContextVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "context", "The lines around one line");
    app_->add_option("LINE-ID", id_, "As `query --ids` or JSON shows it");
    app_->add_option("-B,--before", before_, "Lines before it");
    app_->add_option("-A,--after", after_, "Lines after it");
    app_->add_flag("--all-ranks", all_ranks_, "Of all ranks, by time");
    app_->add_flag("--ids", ids_, "Show each line's id");
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
    std::vector<std::string> positionals;
    if (!id_.empty()) positionals.push_back(id_);
    if (Status fits = files_.check(); !fits.ok()) return usage(fits.error());
    if (Status split = split_files(files_.files, positionals, file_exists); !split.ok()) {
      return usage(split.error());
    }
    if (positionals.size() != 1)
      return usage(Error(ErrorCode::invalid, "context needs one LINE-ID"));
    Params params;
    params.emplace_back("id", positionals[0]);
    params.emplace_back("before", std::to_string(before_));
    params.emplace_back("after", std::to_string(after_));
    if (all_ranks_) params.emplace_back("all_ranks", "true");
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    auto body = source->api.get("/api/v1/context", params);
    if (!body.ok()) return fail(body.error());
    LineStyle style;
    style.colour = options.colour;
    style.ids = ids_;
    style.mark = positionals[0];
    return print(*output, *body, style, options.shown);
  }

 private:
  // `folded`: redraws of progress bars become the last of them.
  static int print(Output output, const std::string& body, const LineStyle& style, bool folded) {
    StdoutWriter out;
    const Json answer = Json::parse(body, nullptr, false);
    const auto lines = answer.is_object() ? answer.find("lines") : answer.end();
    if (!answer.is_object() || lines == answer.end() || !lines->is_array()) {
      return fail(Error(ErrorCode::corrupt, "the server's answer has no lines"));
    }
    if (output == Output::json) out.write(body + "\n");
    RedrawFold redraws;
    for (const Json& line : *lines) {
      if (output == Output::text && folded) {
        for (const std::string& text : redraws.next(line, line_text(line, style))) {
          out.write(text + "\n");
        }
      } else if (output == Output::text) {
        out.write(line_text(line, style) + "\n");
      }
      if (output == Output::ndjson) out.write(ndjson_record(line));
      if (output == Output::raw) out.write(line.value("text", "") + "\n");
    }
    for (const std::string& text : redraws.rest()) out.write(text + "\n");
    return out.finish() ? kExitOk : kExitFailure;
  }

  CLI::App* app_ = nullptr;
  std::string id_;
  std::uint64_t before_ = 10, after_ = 10;
  bool all_ranks_ = false, ids_ = false;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_context() { return std::make_unique<ContextVerb>(); }

}  // namespace logarithm::cli
