#include <CLI/App.hpp>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/answer.h"
#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/line_text.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

std::string site_name(const Json& site) {
  const std::string callsite = member(site, "callsite");
  return callsite == "-" ? member(site, "template") + "  " + member(site, "text") : callsite;
}

std::string shown_name(const Json& site) {
  return (site.contains("noise") ? "(noise?) " : "") + site_name(site);
}

// How many numbers "0-3,7" names.
std::uint64_t count_ranks(const std::string& ranks) {
  std::uint64_t count = 0;
  std::istringstream parts(ranks);
  for (std::string part; std::getline(parts, part, ',');) {
    std::uint64_t first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%" SCNu64 "-%" SCNu64, &first, &last);
    if (read >= 1) count += read == 2 && last >= first ? last - first + 1 : 1;
  }
  return count;
}

// "all 512", "510 of 512; not 17,203", else the ranks.
std::string site_ranks(const Json& site) {
  const std::string ranks = member(site, "ranks"), missing = member(site, "missing");
  if (ranks.empty() || ranks == "-") return "-";
  const std::uint64_t on = count_ranks(ranks);
  const std::uint64_t off = missing.empty() || missing == "-" ? 0 : count_ranks(missing);
  if (off == 0) return on > 1 ? "all " + std::to_string(on) : ranks;
  if (on > off) {
    return std::to_string(on) + " of " + std::to_string(on + off) + "; not " + missing;
  }
  return ranks;
}

std::string site_iterations(const Json& site) {
  const std::string first = member(site, "first_iteration"), last = member(site, "last_iteration");
  return first == last ? first : first + "-" + last;
}

std::string sites_table(const Json& answer) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"LINES", "BYTES", "SHARE", "RANKS", "ITERATIONS", "CALL SITE OR TEMPLATE"});
  for (const Json& site : answer.at("callsites")) {
    if (!site.is_object()) continue;
    char share[16];
    std::snprintf(share, sizeof share, "%.1f%%", 100 * number_member(site, "share"));
    rows.push_back({member(site, "lines"), human_bytes(number_member(site, "bytes")), share,
                    site_ranks(site), site_iterations(site), shown_name(site)});
  }
  return table(rows, {0, 1, 2});
}

// One row a (site, rank).
std::string ranks_table(const Json& answer) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"LINES", "BYTES", "RANK", "CALL SITE OR TEMPLATE"});
  for (const Json& site : answer.at("callsites")) {
    if (!site.is_object()) continue;
    const auto ranks = site.find("by_rank");
    if (ranks == site.end() || !ranks->is_array()) continue;
    for (const Json& rank : *ranks) {
      if (!rank.is_object()) continue;
      rows.push_back({member(rank, "lines"), human_bytes(number_member(rank, "bytes")),
                      member(rank, "rank"), site_name(site)});
    }
  }
  return table(rows, {0, 1, 2});
}

class CallsitesVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "callsites",
                    "Who prints how much: call sites, and templates where a line names none");
    app_->add_option("JOB", first_, "The job (not with --files)");
    app_->add_option("LOGQL", second_,
                     "Only lines that fulfil it: '{template!=\"ID\"}' leaves one out");
    app_->add_option("--limit", limit_, "At most this many, those with the most bytes")
        ->check(CLI::Range(1, 1000));
    app_->add_flag("--by-rank", by_rank_, "One row for each rank");
    filters_.add_to(*app_);
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (by_rank_ && *output == Output::raw) {
      return usage(Error(ErrorCode::invalid, "--output raw gives names alone, without --by-rank"));
    }
    auto words = bind_job(files_, {first_, second_}, job_);
    if (!words.ok()) return usage(words.error());
    if (words->size() > 1) {
      return usage(Error(ErrorCode::invalid, "with --files there is no JOB, and one LOGQL"));
    }
    if (!words->empty()) filters_.logql = words->front();
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    if (app_->count("--limit") != 0) params->emplace_back("limit", std::to_string(limit_));
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    const std::string& job = files_.used() ? source->job : job_;
    auto body = source->api.get(job_path(job, "callsites"), *params);
    if (!body.ok()) return fail(body.error());
    return print(*output, *body);
  }

 private:
  int print(Output output, const std::string& body) const {
    auto answer = parse_answer(body, "callsites");
    if (!answer.ok()) return fail(answer.error());
    StdoutWriter out;
    if (output == Output::json) out.write(body + "\n");
    if (output == Output::text) out.write(by_rank_ ? ranks_table(*answer) : sites_table(*answer));
    for (const Json& site : answer->at("callsites")) {
      if (output == Output::ndjson) out.write(ndjson_record(site));
      if (output == Output::raw && site.is_object()) out.write(site_name(site) + "\n");
    }
    if (!out.finish()) return kExitFailure;
    const auto other = answer->find("other");
    if (output == Output::text && other != answer->end() && other->is_object() &&
        number_member(*other, "callsites") > 0) {
      std::fprintf(stderr, "logarithm: %s more, %s lines, %s\n",
                   member(*other, "callsites").c_str(), member(*other, "lines").c_str(),
                   human_bytes(number_member(*other, "bytes")).c_str());
    }
    warn_incomplete(*answer);
    return kExitOk;
  }

  CLI::App* app_ = nullptr;
  std::string first_, second_, job_;
  std::uint64_t limit_ = 0;
  bool by_rank_ = false;
  Filters filters_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_callsites() { return std::make_unique<CallsitesVerb>(); }

}  // namespace logarithm::cli
