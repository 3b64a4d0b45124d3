#include "aggregator/settings.h"

#include <algorithm>

#include "common/base/logging.h"

namespace logarithm::aggregator {

Result<AggregatorConfig> load_settings(const CommandLine& line, config::Problems& problems) {
  AggregatorConfig config;
  if (!line.config.empty()) LGR_CHECK(load_config(line.config, config, problems));
  config::Origins& origins = config.origins;
  origins.take("listen", "--listen", line.listen, config.listen);
  origins.take("data_dir", "--data-dir", line.data_dir, config.data_dir);
  origins.take("ready_file", "--ready-file", line.ready_file, config.ready_file);
  const auto more = validate(config);
  problems.insert(problems.end(), more.begin(), more.end());
  return config;
}

Result<AggregatorConfig> reload_settings(const CommandLine& line) {
  config::Problems problems;
  LGR_TRY(AggregatorConfig config, load_settings(line, problems));
  std::string text = config::to_string(problems);
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) return Error(ErrorCode::invalid, std::move(text));
  return config;
}

std::vector<std::string> needs_restart(const AggregatorConfig& running,
                                       const AggregatorConfig& wanted) {
  std::vector<std::string> out;
  if (running.listen != wanted.listen) out.emplace_back("listen");
  if (running.data_dir != wanted.data_dir) out.emplace_back("data_dir");
  if (running.ready_file != wanted.ready_file) out.emplace_back("ready_file");
  return out;
}

void write_reloads(const config::ReloadState& state, JsonWriter& out) {
  out.key("reload").begin_object();
  out.key("ok").count(state.succeeded).key("failed").count(state.failed);
  out.key("last_failed").boolean(state.last_failed).key("problems").begin_array();
  for (const std::string& problem : state.problems) out.string(problem);
  out.end_array().key("needs_restart").begin_array();
  for (const std::string& key : state.needs_restart) out.string(key);
  out.end_array().end_object();
}

}  // namespace logarithm::aggregator
