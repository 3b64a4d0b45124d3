#include "agent/settings.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/run_files.h"

namespace logarithm::agent {

namespace {

Result<std::string> read_text(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return errno_error(EISDIR, path);
  errno = 0;
  const std::ifstream file(path, std::ios::binary);
  if (!file) return errno_error(errno != 0 ? errno : EIO, path);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.bad()) return errno_error(EIO, path);
  return text.str();
}

}  // namespace

std::shared_ptr<const RuleSet> load_rules(const AgentConfig& config, config::Problems& problems,
                                          const RuleSet::Options& options) {
  std::vector<RuleSet::Source> sources = RuleSet::shipped();
  for (std::size_t i = 0; i < config.rules.size(); ++i) {
    auto text = read_text(config.rules[i]);
    if (text.ok()) {
      sources.push_back({config.rules[i], std::move(*text)});
      continue;
    }
    problems.push_back(config.origins.problem(
        "rules[" + std::to_string(i) + "]",
        "cannot read " + text.error().message() + "; put the file there, or take it out"));
  }
  std::vector<RuleProblem> refused;
  auto rules = RuleSet::build(sources, refused, options);
  for (const RuleProblem& problem : refused) {
    const auto line = static_cast<std::size_t>(std::max(problem.line, 0));
    problems.push_back(config::Problem{problem.file, line, problem.path, problem.message});
  }
  return rules;
}

Result<Settings> load_settings(const CommandLine& line, config::Problems& problems) {
  Settings out;
  AgentConfig& config = out.config;
  if (!line.config.empty()) LGR_CHECK(load_config(line.config, config, problems));
  config::Origins& origins = config.origins;
  origins.take("aggregator", "--aggregator", line.aggregator, config.aggregator);
  origins.take("state_dir", "--state-dir", line.state_dir, config.state_dir);
  origins.take("proc_root", "--proc-root", line.proc_root, config.proc_root);
  origins.take("metrics", "--metrics", line.metrics, config.metrics);
  if (line.once) config.once = true;
  if (line.verbose) config.log_level = LogThreshold::debug;
  const auto more = validate(config);
  problems.insert(problems.end(), more.begin(), more.end());
  config::Problems refused;
  out.rules = load_rules(config, refused);
  for (const config::Problem& problem : refused) out.rule_problems.push_back(problem.to_string());
  if (config.discover.runs && !config.once) {
    if (auto runs = run_files(line.state_home, line.home)) config.files.push_back(std::move(*runs));
  }
  return out;
}

Result<Settings> reload_settings(const CommandLine& line) {
  config::Problems problems;
  LGR_TRY(Settings settings, load_settings(line, problems));
  std::string text = config::to_string(problems);
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) return Error(ErrorCode::invalid, std::move(text));
  return settings;
}

std::vector<std::string> needs_restart(const AgentConfig& running, const AgentConfig& wanted) {
  std::vector<std::string> out;
  const auto compare = [&](const char* key, const auto& a, const auto& b) {
    if (a != b) out.emplace_back(key);
  };
  compare("aggregator", running.aggregator, wanted.aggregator);
  compare("token", running.token, wanted.token);
  compare("state_dir", running.state_dir, wanted.state_dir);
  compare("proc_root", running.proc_root, wanted.proc_root);
  // Where the file names none, the running one has looked it up.
  if (!wanted.host.empty()) compare("host", running.host, wanted.host);
  compare("metrics", running.metrics, wanted.metrics);
  compare("once", running.once, wanted.once);
  compare("give_way", running.give_way, wanted.give_way);
  compare("import", running.import.has_value(), wanted.import.has_value());
  return out;
}

}  // namespace logarithm::agent
