#include <CLI/App.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/answer.h"
#include "cli/line_printer.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

std::string joined(const Json& list, const char* name) {
  std::string out;
  const auto found = list.find(name);
  if (found == list.end() || !found->is_array()) return "-";
  for (const Json& item : *found) {
    if (item.is_string()) out += (out.empty() ? "" : ", ") + item.get<std::string>();
  }
  return out.empty() ? "-" : out;
}

std::string lists_table(const Json& answer) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"NAME", "SCOPE", "CALL SITES", "TEMPLATES", "TEXTS"});
  for (const Json& list : answer.at("suppressions")) {
    if (!list.is_object()) continue;
    rows.push_back({member(list, "name"), member(list, "scope"), joined(list, "callsites"),
                    joined(list, "templates"), joined(list, "texts")});
  }
  return rows.size() == 1 ? "" : table(rows, {});
}

// Saved lists of what to leave out of answers: lines are stored all the same.
class HideVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "hide", "Saved lists of what to leave out of answers (--hide NAME)");
    app_->add_option("JOB", job_, "The job")->required();
    app_->add_option(
        "NAME", name_,
        "The list; without it all lists are shown (with --all-jobs those of the tenant)");
    const auto repeated = [&](const char* flag, std::vector<std::string>& into, const char* help) {
      app_->add_option(flag, into, help)->allow_extra_args(false);
    };
    repeated("--callsite", callsites_, "Lines printed at FILE:LINE");
    repeated("--template", templates_, "Lines of a template (as `callsites` shows it)");
    repeated("--text", texts_, "Lines that hold a text");
    app_->add_flag("--noise", noise_, "All that `callsites` suggests as noise");
    app_->add_flag("--all-jobs", all_jobs_, "For all jobs of the tenant, not for JOB alone");
    app_->add_flag("--delete", delete_, "Forget the list");
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    const bool some = noise_ || !callsites_.empty() || !templates_.empty() || !texts_.empty();
    if (name_.empty() && (some || delete_)) {
      return usage(Error(ErrorCode::invalid, "a list has a NAME"));
    }
    if (!name_.empty() && some == delete_) {
      return usage(Error(ErrorCode::invalid,
                         "say what NAME hides (--callsite, --template, --text, --noise), or "
                         "--delete"));
    }
    if (!name_.empty()) {
      // It says nothing when all went well.
      const Status fits = check_only_output(options, "hide with a NAME", "text");
      if (!fits.ok()) return usage(fits.error());
    }
    auto source = open_source(runner, options, FileOptions());
    if (!source.ok()) return fail(source.error());
    ApiClient& api = source->api;
    if (name_.empty()) return show(api, *output);
    if (delete_) {
      const Status gone = api.send("DELETE", path(), {{"name", name_}}, "");
      return gone.ok() ? kExitOk : fail(gone.error());
    }
    if (noise_) {
      const Status added = add_noise(api);
      if (!added.ok()) return fail(added.error());
    }
    Json list = {{"name", name_}};
    if (!callsites_.empty()) list["callsites"] = callsites_;
    if (!templates_.empty()) list["templates"] = templates_;
    if (!texts_.empty()) list["texts"] = texts_;
    const std::string body = list.dump(-1, ' ', false, Json::error_handler_t::replace);
    const Status saved = api.send("PUT", path(), {}, body);
    return saved.ok() ? kExitOk : fail(saved.error());
  }

 private:
  std::string path() const {
    return all_jobs_ ? "/api/v1/suppressions" : job_path(job_, "suppressions");
  }

  int show(ApiClient& api, Output output) const {
    auto body = api.get(path(), {});
    if (!body.ok()) return fail(body.error());
    auto answer = parse_answer(*body, "suppressions");
    if (!answer.ok()) return fail(answer.error());
    StdoutWriter out;
    if (output == Output::json) out.write(*body + "\n");
    if (output == Output::text) out.write(lists_table(*answer));
    for (const Json& list : answer->at("suppressions")) {
      if (output == Output::ndjson) out.write(ndjson_record(list));
      if (output == Output::raw && list.is_object()) out.write(member(list, "name") + "\n");
    }
    return out.finish() ? kExitOk : kExitFailure;
  }

  Status add_noise(ApiClient& api) {
    LGR_TRY(std::string body, api.get(job_path(job_, "callsites"), {{"limit", "1000"}}));
    LGR_TRY(const Json answer, parse_answer(body, "callsites"));
    std::size_t found = 0;
    for (const Json& site : answer.at("callsites")) {
      if (!site.is_object() || !site.contains("noise")) continue;
      ++found;
      const std::string callsite = member(site, "callsite");
      if (callsite != "-") {
        callsites_.push_back(callsite);
      } else if (const auto all = site.find("templates"); all != site.end() && all->is_array()) {
        for (const Json& id : *all) {
          if (id.is_string()) templates_.push_back(id.get<std::string>());
        }
      } else {
        templates_.push_back(member(site, "template"));
      }
    }
    if (found == 0) return Error(ErrorCode::not_found, "nothing in " + job_ + " looks like noise");
    return {};
  }

  CLI::App* app_ = nullptr;
  std::string job_, name_;
  std::vector<std::string> callsites_, templates_, texts_;
  bool noise_ = false, all_jobs_ = false, delete_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_hide() { return std::make_unique<HideVerb>(); }

}  // namespace logarithm::cli
