#include <CLI/App.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/line_printer.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

std::string shown(const Json& job, const char* key) {
  const auto found = job.find(key);
  if (found == job.end() || found->is_null()) return "-";
  if (found->is_string()) return visible(found->get<std::string>());
  if (!found->is_array()) return found->dump();
  std::string out;
  for (const Json& one : *found) {
    out +=
        (out.empty() ? "" : ",") + (one.is_string() ? visible(one.get<std::string>()) : one.dump());
  }
  return out.empty() ? "-" : out;
}

std::string shown_bytes(const Json& job) {
  const std::string text = shown(job, "bytes");
  return text == "-" ? text : human_bytes(std::strtod(text.c_str(), nullptr));
}

std::string shown_hosts(const Json& job) {
  const auto hosts = job.find("hosts");
  if (hosts == job.end() || !hosts->is_array() || hosts->size() <= 2) return shown(job, "hosts");
  return std::to_string(hosts->size()) + " hosts";
}

// "3s ago": for people.
std::string shown_age(double seconds) {
  const char* unit = "s";
  if (seconds >= 2 * 86400) {
    seconds /= 86400;
    unit = "d";
  } else if (seconds >= 2 * 3600) {
    seconds /= 3600;
    unit = "h";
  } else if (seconds >= 120) {
    seconds /= 60;
    unit = "m";
  }
  return std::to_string(static_cast<long long>(seconds)) + unit + " ago";
}

// How far the stored lines go: "up to date", what is still to come, or why nobody knows.
std::string shown_freshness(const Json& job) {
  const auto found = job.find("freshness");
  if (found == job.end() || !found->is_object()) return "-";
  const std::string pending = shown(*found, "pending"), why = shown(*found, "why");
  if (pending != "-" && pending != "0") {
    return human_bytes(std::strtod(pending.c_str(), nullptr)) + " behind";
  }
  return why == "-" ? "up to date" : why;
}

std::string shown_last_line(const Json& job) {
  const auto found = job.find("freshness");
  const std::string time = shown(job, "last_time").substr(0, 19);
  if (found == job.end() || !found->is_object() || job.value("state", "") != "running") return time;
  const auto age = found->find("age_seconds");
  if (age == found->end() || !age->is_number() || age->get<double>() < 0) return time;
  return shown_age(age->get<double>());
}

std::string jobs_table(const Json& jobs) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"JOB", "STATE", "ATTEMPTS", "RANKS", "HOSTS", "LINES", "BYTES", "ITERATION",
                  "ERRORS", "LAST LINE", "FRESHNESS"});
  for (const Json& job : jobs) {
    rows.push_back({shown(job, "job"), shown(job, "state"), shown(job, "attempts"),
                    shown(job, "ranks"), shown_hosts(job), shown(job, "lines"), shown_bytes(job),
                    shown(job, "last_iteration"), shown(job, "errors"), shown_last_line(job),
                    shown_freshness(job)});
  }
  return table(rows, {5, 6, 7, 8});
}

class JobsVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "jobs",
                    "List jobs with attempts, ranks, lines, last iteration, errors, freshness");
    app_->add_option("JOB", job_, "Only this one");
    files_.add_to(*app_);
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    std::vector<std::string> rest;
    if (Status fits = files_.check(); !fits.ok()) return usage(fits.error());
    if (Status split = split_files(files_.files, rest, file_exists); !split.ok()) {
      return usage(split.error());
    }
    if (!rest.empty()) return usage(Error(ErrorCode::invalid, "no such file: " + rest.front()));
    auto source = open_source(runner, options, files_);
    if (!source.ok()) return fail(source.error());
    auto body = source->api.get(job_.empty() ? "/api/v1/jobs" : job_path(job_, ""), Params());
    if (!body.ok()) return fail(body.error());
    return print(*output, *body);
  }

 private:
  static int print(Output output, const std::string& body) {
    StdoutWriter out;
    const Json answer = Json::parse(body, nullptr, false);
    const auto jobs = answer.is_object() ? answer.find("jobs") : answer.end();
    if (!answer.is_object() || jobs == answer.end() || !jobs->is_array()) {
      return fail(Error(ErrorCode::corrupt, "the server's list of jobs is not one"));
    }
    if (output == Output::json) out.write(body + "\n");
    if (output == Output::text) out.write(jobs_table(*jobs));
    for (const Json& job : *jobs) {
      if (output == Output::ndjson) out.write(ndjson_record(job));
      if (output == Output::raw) out.write(job.value("job", "") + "\n");
    }
    return out.finish() ? kExitOk : kExitFailure;
  }

  CLI::App* app_ = nullptr;
  std::string job_;
  FileOptions files_;
};

}  // namespace

std::unique_ptr<Verb> make_jobs() { return std::make_unique<JobsVerb>(); }

}  // namespace logarithm::cli
