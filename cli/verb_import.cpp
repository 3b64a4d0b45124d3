#include <CLI/App.hpp>
#include <cstdio>

#include "cli/agent_run.h"
#include "cli/private_server.h"
#include "cli/source.h"
#include "cli/verb.h"
#include "common/model/job_name.h"

namespace logarithm::cli {
namespace {

class ImportVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "import", "Load existing log files into a server; again is a no-op");
    app_->add_option("--job", request_.job, "The job they belong to")->required();
    app_->add_option("--path", request_.path,
                     "RE2 on the path; its groups (job, attempt, host, rank, local_rank, stream) "
                     "become attributes");
    app_->add_option("--tz", request_.tz, "Time zone of times that name none");
    app_->add_option("FILE", request_.roots, "Files, and directories with all below them")
        ->required();
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    if (request_.job.empty()) return usage(Error(ErrorCode::invalid, "--job: a name is needed"));
    if (const auto problem = problem_of_job_name(request_.job)) {
      return usage(Error(ErrorCode::invalid, "--job: the name " + *problem));
    }
    for (const std::string& root : request_.roots) {
      if (!file_exists(root)) {
        return usage(Error(ErrorCode::invalid, "no such file or directory: " + root));
      }
    }
    auto url = net::parse_url(options.server);
    if (!url.ok()) return usage(url.error());
    // The agent's own address form; a path in front of the API is kept.
    std::string aggregator = options.server;
    aggregator.replace(0, aggregator.find("://"), "ws");
    auto dir = WorkDir::make();
    if (!dir.ok()) return fail(dir.error());
    Progress progress(options.terminal);
    auto summary = run_agent(runner, options, request_, aggregator, (*dir)->path(), progress);
    if (!summary.ok()) return fail(summary.error());
    std::fputs(summary->c_str(), stdout);
    if (const Status found = found_files(*summary, request_); !found.ok()) {
      return fail(found.error());
    }
    return std::fflush(stdout) == 0 ? kExitOk : kExitFailure;
  }

 private:
  CLI::App* app_ = nullptr;
  ImportRequest request_;
};

}  // namespace

std::unique_ptr<Verb> make_import() { return std::make_unique<ImportVerb>(); }

}  // namespace logarithm::cli
