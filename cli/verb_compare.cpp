#include <CLI/App.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/compare_text.h"
#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/nothing_found.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

class CompareVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "compare",
                    "Ranks against each other: two side by side, or all and who departs");
    app_->add_option("JOB", first_, "The job (not with --files)");
    app_->add_option("LOGQL", second_, "Only lines that fulfil it");
    auto* ranks =
        app_->add_option("--ranks", ranks_, "0,3: these two side by side; more: a verdict");
    app_->add_flag("--all", all_, "All ranks: what they agree on, and who departs (the default)")
        ->excludes(ranks);
    app_->add_option("--peers", peers_,
                     "Who should print the same: auto, all, host, local_rank, or 0-7;8-15");
    app_->add_option("--limit", limit_, "At most this many departures or rows")
        ->check(CLI::Range(1, 10000));
    app_->add_option("--context", context_, "Rows that are the same around each difference")
        ->check(CLI::Range(0, 10000));
    app_->add_option("--against-attempt", against_attempt_,
                     "Compare with another attempt: what ranks print otherwise than then")
        ->check(CLI::Range(0, 1'000'000));
    app_->add_option("--against-job", against_job_, "Compare with a run of another job");
    auto* first = app_->add_flag(
        "--first-only", first_only_,
        "Only where ranks first diverge: from hashes, without reading the lines before");
    app_->add_flag("--consensus", consensus_, "Show what the ranks agree on, too")->excludes(first);
    filters_.add_to(*app_);
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (consensus_ && (*output == Output::ndjson || *output == Output::raw)) {
      return usage(Error(ErrorCode::invalid, "--consensus goes with --output text or json"));
    }
    auto words = bind_job(files_, {first_, second_}, job_);
    if (!words.ok()) return usage(words.error());
    if (words->size() > 1) {
      return usage(Error(ErrorCode::invalid, "with --files there is no JOB, and one LOGQL"));
    }
    if (!words->empty()) filters_.logql = words->front();
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    if (!ranks_.empty()) params->emplace_back("ranks", ranks_);
    if (app_->count("--against-attempt") != 0) {
      params->emplace_back("against_attempt", std::to_string(against_attempt_));
    }
    if (!against_job_.empty()) params->emplace_back("against_job", against_job_);
    if (first_only_) params->emplace_back("first", "true");
    if (!peers_.empty()) params->emplace_back("peers", peers_);
    if (app_->count("--limit") != 0) params->emplace_back("limit", std::to_string(limit_));
    if (app_->count("--context") != 0) params->emplace_back("context", std::to_string(context_));
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string& job = files_.used() ? source->job : job_;
    auto body = source->api.get(job_path(job, "compare"), *params);
    if (!body.ok()) return fail(body.error());
    const int status = print(*output, *body, options);
    if (status == kExitOk && *output == Output::text && empty_) {
      say_nothing_found(*source, job, "lines of ranks");
    }
    return status;
  }

 private:
  int print(Output output, const std::string& body, const Options& options) {
    auto answer = parse_answer(body, "departures");
    if (!answer.ok()) return fail(answer.error());
    const auto rows = answer->find("rows");
    const bool pair = rows != answer->end() && rows->is_array();
    empty_ = member(*answer, "ranks").empty();
    StdoutWriter out;
    if (output == Output::json) out.write(body + "\n");
    if (output == Output::text) {
      if (consensus_) out.write(consensus_text(*answer));
      out.write(pair ? pair_text(*answer, options.columns) : departures_text(*answer));
    }
    const auto& items = pair ? *rows : answer->at("departures");
    for (const auto& item : items) {
      if (output == Output::ndjson) out.write(ndjson_record(item));
      if (output == Output::raw && item.is_object()) out.write(raw_row(item) + "\n");
    }
    if (!out.finish()) return kExitFailure;
    if (output == Output::text && !empty_) {
      std::fprintf(stderr, "%s\n", compare_summary(*answer).c_str());
    }
    warn_incomplete(*answer);
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string first_, second_, job_, ranks_, peers_;
  std::string against_job_;
  std::uint64_t limit_ = 0, context_ = 0;
  std::int32_t against_attempt_ = 0;
  bool all_ = false, consensus_ = false, first_only_ = false, empty_ = false;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_compare() { return std::make_unique<CompareVerb>(); }

}  // namespace logarithm::cli
