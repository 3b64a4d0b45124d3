#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/nothing_found.h"
#include "cli/series_text.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

// A table is read, a plot has two dots a column.
constexpr std::uint64_t kTableBuckets = 20;

class SeriesVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "series", "A telemetry series of a job, per rank: loss, grad_norm, …");
    app_->add_option("JOB", first_, "The job (not with --files)");
    app_->add_option("METRIC", second_, "A field that rules mark as a point");
    app_->add_option("LOGQL", third_, "Only from lines that fulfil it");
    app_->add_flag("--plot", plot_, "Draw the means in the terminal; NaN is marked");
    auto* buckets =
        app_->add_option("--buckets", buckets_, "At most this many buckets of iterations")
            ->check(CLI::Range(1, 10000));
    app_->add_option("--step", step_, "Iterations of a bucket (default: as --buckets needs)")
        ->excludes(buckets)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 60));
    filters_.add_to(*app_);
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (plot_ && !options.output_stated) *output = Output::text;
    if (plot_ && *output != Output::text) {
      return usage(Error(ErrorCode::invalid, "--plot goes with --output text"));
    }
    auto words = bind_job(files_, {first_, second_, third_}, job_);
    if (!words.ok()) return usage(words.error());
    if (words->empty() || words->size() > 2) {
      return usage(Error(ErrorCode::invalid, "series needs one METRIC: loss, grad_norm, …"));
    }
    if (words->size() > 1) filters_.logql = words->back();
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    params->emplace_back("metric", words->front());
    add_size(*params, *output, options.columns);
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string& job = files_.used() ? source->job : job_;
    auto body = source->api.get(job_path(job, "telemetry/series"), *params);
    if (!body.ok()) return fail(body.error());
    const int status = print(*output, *body, options);
    if (status == kExitOk && *output == Output::text && empty_) {
      say_nothing_found(*source, job, "points of " + words->front());
    }
    return status;
  }

 private:
  void add_size(Params& params, Output output, std::size_t columns) const {
    if (app_->count("--step") != 0) params.emplace_back("step", std::to_string(step_));
    std::uint64_t buckets = 0;
    if (output == Output::text) buckets = kTableBuckets;
    if (plot_) buckets = std::min<std::uint64_t>(std::uint64_t{columns} * 2, 10000);
    if (app_->count("--buckets") != 0) buckets = buckets_;
    if (buckets != 0) params.emplace_back("buckets", std::to_string(buckets));
  }

  int print(Output output, const std::string& body, const Options& options) {
    auto answer = parse_answer(body, "series");
    if (!answer.ok()) return fail(answer.error());
    StdoutWriter out;
    if (output == Output::json) out.write(body + "\n");
    if (output == Output::ndjson) out.write(series_ndjson(*answer));
    if (output == Output::raw) out.write(series_raw(*answer));
    empty_ = answer->at("series").empty();
    if (output == Output::text && !empty_) {
      out.write(plot_ ? series_plot(*answer, options.columns) : series_table(*answer));
    }
    if (!out.finish()) return kExitFailure;
    warn_incomplete(*answer);
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string first_, second_, third_, job_;
  bool plot_ = false, empty_ = false;
  std::uint64_t buckets_ = 0, step_ = 0;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_series() { return std::make_unique<SeriesVerb>(); }

}  // namespace logarithm::cli
