#include "cli/options.h"

#include "common/config/units.h"
#include "common/config/yaml_node.h"

namespace logarithm::cli {

Result<Output> parse_output(const std::string& word) {
  if (word == "text") return Output::text;
  if (word == "json") return Output::json;
  if (word == "ndjson") return Output::ndjson;
  if (word == "raw") return Output::raw;
  return Error(ErrorCode::invalid, "--output is text, json, ndjson or raw");
}

Result<config::Problems> load_config(const std::string& file, Options& options) {
  LGR_TRY(auto document, config::YamlDocument::load_file(file));
  const config::YamlNode root = document.root();
  options.server = root.string("server", options.server);
  options.token = root.string("token", options.token);
  options.output = root.choice("output", options.output, {"text", "json", "ndjson", "raw"});
  const auto url = net::parse_url(options.server);
  if (!url.ok()) {
    root.problem_at("server", url.error().message());
  } else if (url->scheme != "http") {
    root.problem_at("server", "must be an http:// URL: " + options.server);
  }
  root.finish();
  return document.problems();
}

Status check_only_output(const Options& options, const std::string& verb, const std::string& own) {
  if (!options.output_stated || options.output == own) return {};
  return Error(ErrorCode::invalid, verb + " has no --output " + options.output);
}

std::string describe(const Options& options) {
  std::string out = "server: " + config::yaml_quote(options.server) + "\n";
  out += "token: " + config::yaml_quote(options.token.empty() ? "" : "***") + "\n";
  return out + "output: " + options.output + "\n";
}

}  // namespace logarithm::cli
