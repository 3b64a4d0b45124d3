#include "cli/nothing_found.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/answer.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

// "attempts 0-1, ranks 0-3, iterations up to 145"; empty when it cannot be known.
std::string what_there_is(Source& source, const std::string& job) {
  const auto body = source.api.get(job_path(job, ""), {});
  if (!body.ok()) return "";
  const auto answer = parse_answer(*body, "jobs");
  if (!answer.ok()) return "";
  const Json jobs = answer->at("jobs");
  if (jobs.size() != 1 || !jobs[0].is_object()) return "";
  const Json& one = jobs[0];
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto attempts = one.find("attempts");
  if (attempts != one.end() && attempts->is_array() && !attempts->empty()) {
    const std::string first = attempts->front().dump(), last = attempts->back().dump();
    add(first == last ? "attempt " + first : "attempts " + first + " to " + last);
  }
  if (const std::string ranks = member(one, "ranks"); !ranks.empty() && ranks != "-") {
    add("ranks " + ranks);
  }
  if (one.contains("last_iteration")) add("iterations up to " + member(one, "last_iteration"));
  return out;
}

}  // namespace

void say_nothing_found(Source& source, const std::string& job, const std::string& what) {
  const std::string has = what_there_is(source, job);
  std::fprintf(stderr, "logarithm: no %s match%s\n", what.c_str(),
               has.empty() ? "" : ("; " + job + " has " + has).c_str());
}

}  // namespace logarithm::cli
