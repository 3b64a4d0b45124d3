#include <CLI/App.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/line_printer.h"
#include "cli/source.h"
#include "cli/verb.h"
#include "cli/verdict_text.h"
#include "cli/watch_pace.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

class TriageVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "triage", "Which rank broke, when and why");
    app_->add_option("JOB", first_, "The job (not with --files)");
    app_->add_option("--attempt", attempt_, "This attempt (default: the newest)")
        ->check(CLI::NonNegativeNumber);
    app_->add_flag(
        "--watch", watch_,
        "Ask again every second (less often where it takes the server long); says the verdict when "
        "it changes");
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    auto words = bind_job(files_, {first_}, job_);
    if (!words.ok()) return usage(words.error());
    if (!words->empty()) {
      return usage(Error(ErrorCode::invalid, "no such file or directory: " + words->front()));
    }
    if (watch_ && files_.used()) {
      return usage(Error(ErrorCode::invalid, "--watch needs a server: files are read once"));
    }
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string path = job_path(files_.used() ? source->job : job_, "triage");
    Params params;
    if (app_->count("--attempt") != 0) params.emplace_back("attempt", std::to_string(attempt_));
    std::string before;
    for (;;) {
      auto got = source->api.get_response(path, params);
      if (!got.ok()) return fail(got.error());
      auto answer = parse_answer(got->body, "evidence");
      if (!answer.ok()) return fail(answer.error());
      // How complete the answer is changes all the time; it is said, but is no news.
      Json news = *answer;
      news.erase("completeness");
      if (const std::string now = news.dump(); now != before) {
        if (const int status = print(*output, got->body, *answer, options); status != kExitOk)
          return status;
        before = now;
      }
      if (!watch_) return kExitOk;
      if (!runner.wait(pause_after(got->headers)).ok())
        return kExitOk;  // interrupted: the way to end it
    }
  }

 private:
  int print(Output output, const std::string& body, const Json& answer,
            const Options& options) const {
    StdoutWriter out;
    if (output == Output::json || output == Output::ndjson) out.write(body + "\n");
    if (output == Output::text)
      out.write(verdict_text(answer, context_command(options, files_)) + (watch_ ? "\n" : ""));
    if (output == Output::raw) out.write(member(answer, "summary") + "\n");
    if (!out.finish()) return kExitFailure;
    if (!watch_) warn_incomplete(answer);
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string first_, job_;
  std::uint32_t attempt_ = 0;
  bool watch_ = false;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_triage() { return std::make_unique<TriageVerb>(); }

}  // namespace logarithm::cli
