#include <CLI/App.hpp>

#include "cli/export_lines.h"
#include "cli/export_raw.h"
#include "cli/filters.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

class ExportVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "export",
                    "All lines as NDJSON, or with --output raw the exact bytes of streams");
    app_->add_option("JOB", job_, "The job (not with --files)");
    app_->add_option("LOGQL", logql_, "LogQL, as for `query`");
    filters_.add_to(*app_);
    app_->add_option("--limit", paging_.limit, "NDJSON: at most this many lines")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53));
    app_->add_option("--direction", paging_.direction,
                     "NDJSON: forward, the oldest first (default), or backward")
        ->check(CLI::IsMember({"forward", "backward"}));
    app_->add_option("--to", to_, "With --output raw: a directory, one byte-equal file per stream");
    app_->add_option("--cursor", paging_.cursor, "NDJSON: go on where an export stopped");
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (Status bound = bind_positionals(); !bound.ok()) return usage(bound.error());
    const bool raw = *output == Output::raw || !to_.empty();
    if (Status fits = check_output(*output, options); !fits.ok()) return usage(fits.error());
    for (const char* option : {"--cursor", "--limit", "--direction"}) {
      if (!raw || app_->count(option) == 0) continue;
      return usage(Error(ErrorCode::invalid,
                         std::string(option) + " goes with ndjson: raw gives whole streams"));
    }
    auto params = raw ? filters_.stream_params() : filters_.params();
    if (!params.ok()) return usage(params.error());
    if (raw) {
      // Checked before anything is started.
      for (const std::string& numbers : {filters_.attempt, filters_.rank}) {
        if (auto set = NumberSet::parse(numbers); !set.ok()) return usage(set.error());
      }
    }
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string job = files_.used() ? source->job : job_;
    if (raw) return export_raw(source->api, job, filters_, *params, to_, options);
    return export_lines(source->api, job_path(job, "lines"), *params, paging_, options);
  }

 private:
  // What the configuration says for all verbs need not fit here; what the command says must.
  Status check_output(Output output, const Options& options) const {
    if (!options.output_stated) return {};
    if (output == Output::json || output == Output::text) {
      return Error(ErrorCode::invalid, "export writes ndjson or raw");
    }
    if (!to_.empty() && output != Output::raw) {
      return Error(ErrorCode::invalid, "--to writes the bytes of streams: --output raw");
    }
    return {};
  }

  Status bind_positionals() {
    std::vector<std::string> positionals;
    if (!job_.empty()) positionals.push_back(job_);
    if (!logql_.empty()) positionals.push_back(logql_);
    LGR_CHECK(files_.check());
    LGR_CHECK(split_files(files_.files, positionals, file_exists));
    const std::size_t jobs = files_.used() ? 0 : 1;
    if (positionals.size() < jobs) return Error(ErrorCode::invalid, "export needs JOB, or --files");
    if (positionals.size() > jobs + 1) {
      return Error(ErrorCode::invalid, "with --files there is no JOB, and one LOGQL");
    }
    job_ = jobs == 1 ? positionals[0] : "";
    filters_.logql = positionals.size() > jobs ? positionals[jobs] : "";
    return {};
  }

  CLI::App* app_ = nullptr;
  std::string job_, logql_, to_;
  ExportPaging paging_;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<ExportVerb>(); }

}  // namespace logarithm::cli
