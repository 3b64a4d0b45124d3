#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "agent/agent_config.h"
#include "agent/app.h"
#include "agent/run_files.h"
#include "agent/test_rules.h"
#include "common/base/logging.h"

namespace {

namespace agent = logarithm::agent;

constexpr int kFailure = 1, kUsage = 64, kBadConfig = 78;

struct Arguments {
  std::string config, aggregator, state_dir, proc_root, metrics;
  std::vector<std::string> rule_files;
  bool once = false, check_config = false, verbose = false;
};

// Fills `config` and `rules`; an exit code when the program ends here.
std::optional<int> configure(const Arguments& arguments, agent::AgentConfig& config,
                             std::shared_ptr<const logarithm::RuleSet>& rules,
                             std::vector<std::string>& rule_problems) {
  logarithm::config::Problems problems;
  if (!arguments.config.empty()) {
    const auto loaded = agent::load_config(arguments.config, config, problems);
    if (!loaded.ok()) {
      std::cerr << loaded.error().message() << "\n";
      return kBadConfig;
    }
  }
  if (!arguments.aggregator.empty()) config.aggregator = arguments.aggregator;
  if (!arguments.state_dir.empty()) config.state_dir = arguments.state_dir;
  if (!arguments.proc_root.empty()) config.proc_root = arguments.proc_root;
  if (!arguments.metrics.empty()) config.metrics = arguments.metrics;
  if (arguments.once) config.once = true;
  const std::string where = arguments.config.empty() ? "command line" : arguments.config;
  const auto more = agent::validate(config, where);
  problems.insert(problems.end(), more.begin(), more.end());
  const bool usable = problems.empty();
  const std::size_t others = problems.size();
  rules = agent::load_rules(config, problems);
  for (std::size_t i = others; i < problems.size(); ++i) {
    rule_problems.push_back(problems[i].to_string());
  }
  std::cerr << logarithm::config::to_string(problems);
  // A bad rule is disabled and the agent runs without it; only --check-config insists.
  if (!usable || (arguments.check_config && !problems.empty())) return kBadConfig;
  if (!arguments.check_config) return std::nullopt;
  std::cout << agent::print_config(config);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App cli("Logarithm's agent: collects the logs of training jobs and ships them.");
  cli.set_version_flag("--version", std::string("logarithm-agent " LGR_VERSION));
  cli.add_option("--config", arguments.config, "YAML file (see config/agent.example.yaml)");
  cli.add_flag("--check-config", arguments.check_config,
               "print what is wrong with the configuration (exit 78), or the effective one");
  cli.add_option("--aggregator", arguments.aggregator, "URL, default ws://127.0.0.1:7400");
  cli.add_option("--state-dir", arguments.state_dir, "where positions and unsent data are kept");
  cli.add_option("--proc-root", arguments.proc_root, "default /proc");
  cli.add_option("--metrics", arguments.metrics, "HOST:PORT or off, default 127.0.0.1:7401");
  cli.add_flag("--once", arguments.once, "read to the end, ship, print a summary, exit");
  cli.add_flag("--verbose", arguments.verbose, "debug messages");
  CLI::App* rules_command =
      cli.add_subcommand("test-rules", "what rules extract from the lines on standard input");
  rules_command->add_option("RULES", arguments.rule_files, "rule files beside the shipped packs");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return cli.exit(problem) == 0 ? 0 : kUsage;
  }
  logarithm::init_logging(arguments.verbose);
  if (rules_command->parsed()) {
    return agent::test_rules(arguments.rule_files, std::cin, std::cout, std::cerr);
  }
  agent::AgentConfig config;
  std::shared_ptr<const logarithm::RuleSet> rules;
  std::vector<std::string> rule_problems;
  if (const auto ended = configure(arguments, config, rules, rule_problems)) return *ended;

  if (config.discover.runs && !config.once) {
    const auto variable = [](const char* name) {
      const char* value = std::getenv(name);
      return std::string(value == nullptr ? "" : value);
    };
    if (auto runs = agent::run_files(variable("XDG_STATE_HOME"), variable("HOME"))) {
      config.files.push_back(std::move(*runs));
    }
  }
  auto app = agent::App::make(std::move(config), std::move(rules), std::move(rule_problems));
  if (!app.ok()) {
    LGR_ERROR("cannot start: {}", app.error().message());
    return kFailure;
  }
  const auto outcome = (*app)->run();
  if (!outcome.ok()) {
    LGR_ERROR("{}", outcome.error().message());
    return kFailure;
  }
  return 0;
}
