#include <CLI/App.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

std::string line_of_pair(const Json& pair, const char* side) {
  const auto found = pair.find(side);
  return found == pair.end() || !found->is_object() ? "-" : member(*found, "text");
}

std::string pairs_table(const Json& answer) {
  const std::string by = member(answer, "by");
  std::vector<std::vector<std::string>> rows;
  rows.push_back({by == "gpu"    ? "GPU"
                  : by == "host" ? "HOST"
                                 : "RANK",
                  "ITERATION", "AFTER", "FIRST", "THEN"});
  for (const Json& pair : answer.at("pairs")) {
    if (!pair.is_object()) continue;
    const auto first = pair.find("first");
    const std::string iteration =
        first == pair.end() || !first->is_object() ? "-" : member(*first, "iteration");
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3fs", number_member(pair, "seconds"));
    std::string after = seconds;
    if (pair.contains("iterations")) after = member(pair, "iterations") + "i " + after;
    rows.push_back({member(pair, by.c_str()), iteration, after, line_of_pair(pair, "first"),
                    line_of_pair(pair, "then")});
  }
  return rows.size() == 1 ? "" : table(rows, {0, 1, 2});
}

class CorrelateVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "correlate", "Pairs of lines: this one, then that one");
    app_->add_option("JOB", word_, "The job (not with --files)");
    app_->add_option("--first", asked_first_, "LOGQL of the first line")->required();
    app_->add_option("--then", asked_then_, "LOGQL of the second line")->required();
    app_->add_option("--by", by_, "What both share: rank, host or gpu");
    app_->add_option("--within", within_, "How far the second may be: 2i (iterations), 30s");
    app_->add_option("--limit", limit_, "At most this many pairs")->check(CLI::Range(1, 10000));
    filters_.add_to(*app_);
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    auto words = bind_job(files_, {word_}, job_);
    if (!words.ok()) return usage(words.error());
    if (!words->empty()) {
      return usage(Error(ErrorCode::invalid, "with --files there is no JOB"));
    }
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    params->emplace_back("first", asked_first_);
    params->emplace_back("then", asked_then_);
    if (!by_.empty()) params->emplace_back("by", by_);
    if (!within_.empty()) params->emplace_back("within", within_);
    if (app_->count("--limit") != 0) params->emplace_back("limit", std::to_string(limit_));
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string& job = files_.used() ? source->job : job_;
    auto body = source->api.get(job_path(job, "correlate"), *params);
    if (!body.ok()) return fail(body.error());
    return print(*output, *body);
  }

 private:
  static int print(Output output, const std::string& body) {
    auto answer = parse_answer(body, "pairs");
    if (!answer.ok()) return fail(answer.error());
    StdoutWriter out;
    if (output == Output::json) out.write(body + "\n");
    if (output == Output::text) out.write(pairs_table(*answer));
    for (const Json& pair : answer->at("pairs")) {
      if (output == Output::ndjson) out.write(ndjson_record(pair));
      if (output == Output::raw && pair.is_object()) {
        out.write(line_of_pair(pair, "first") + "\t" + line_of_pair(pair, "then") + "\n");
      }
    }
    if (!out.finish()) return kExitFailure;
    if (output == Output::text) {
      std::fprintf(stderr, "logarithm: %s pairs of %s first and %s second lines\n",
                   member(*answer, "count").c_str(), member(*answer, "firsts").c_str(),
                   member(*answer, "thens").c_str());
    }
    warn_incomplete(*answer);
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string word_, job_, asked_first_, asked_then_, by_, within_;
  std::uint64_t limit_ = 0;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_correlate() { return std::make_unique<CorrelateVerb>(); }

}  // namespace logarithm::cli
