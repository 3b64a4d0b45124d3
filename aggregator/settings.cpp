#include "aggregator/settings.h"

#include <algorithm>

#include "common/base/logging.h"

namespace logarithm::aggregator {

Result<AggregatorConfig> load_settings(const CommandLine& line, config::Problems& problems) {
  AggregatorConfig config;
  if (!line.config.empty()) LGR_CHECK(load_config(line.config, config, problems));
  if (!line.listen.empty()) config.listen = line.listen;
  if (!line.data_dir.empty()) config.data_dir = line.data_dir;
  if (!line.ready_file.empty()) config.ready_file = line.ready_file;
  const auto more = validate(config, line.config.empty() ? "command line" : line.config);
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

void ReloadState::note(const Status& reloaded) {
  last_failed = !reloaded.ok();
  problems.clear();
  if (reloaded.ok()) {
    ++succeeded;
    for (const std::string& key : needs_restart) {
      LGR_WARN("changed, but needs a restart key={}", key);
    }
    LGR_INFO("reloaded");
    return;
  }
  ++failed;
  LGR_ERROR("not reloaded, the former configuration stays");
  const std::string& message = reloaded.error().message();
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    problems.push_back(message.substr(begin, end - begin));
    LGR_ERROR("reload: {}", problems.back());
    begin = end + 1;
  }
}

void ReloadState::write_status(JsonWriter& out) const {
  out.key("reload").begin_object();
  out.key("ok").count(succeeded).key("failed").count(failed);
  out.key("last_failed").boolean(last_failed).key("problems").begin_array();
  for (const std::string& problem : problems) out.string(problem);
  out.end_array().key("needs_restart").begin_array();
  for (const std::string& key : needs_restart) out.string(key);
  out.end_array().end_object();
}

void ReloadState::write_metrics(std::string& out) const {
  const std::string name = "logarithm_aggregator_reloads_total";
  out += "# TYPE " + name + " counter\n";
  out += name + "{result=\"ok\"} " + std::to_string(succeeded) + "\n";
  out += name + "{result=\"failed\"} " + std::to_string(failed) + "\n";
  const std::string last = "logarithm_aggregator_last_reload_successful";
  out += "# TYPE " + last + " gauge\n" + last + " " + (last_failed ? "0" : "1") + "\n";
}

}  // namespace logarithm::aggregator
