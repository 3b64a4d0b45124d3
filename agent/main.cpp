#include <poll.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "agent/app.h"
#include "agent/give_way.h"
#include "agent/settings.h"
#include "agent/test_rules.h"
#include "common/base/logging.h"

namespace {

namespace agent = logarithm::agent;

constexpr int kFailure = 1, kUsage = 64, kBadConfig = 78;
constexpr int kWaitForRoomMs = 5000;

struct Arguments {
  agent::CommandLine line;
  std::vector<std::string> rule_files;
  std::string rule_stream;
  bool check_config = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Fills `settings`; an exit code when the program ends here.
std::optional<int> configure(const Arguments& arguments, agent::Settings& settings) {
  logarithm::config::Problems problems;
  auto loaded = agent::load_settings(arguments.line, problems);
  if (!loaded.ok()) {
    std::cerr << loaded.error().message() << "\n";
    return kBadConfig;
  }
  settings = std::move(*loaded);
  std::cerr << logarithm::config::to_string(problems);
  for (const std::string& problem : settings.rule_problems) std::cerr << problem << "\n";
  // A bad rule is disabled and the agent runs without it; only --check-config insists.
  const bool insist = arguments.check_config && !settings.rule_problems.empty();
  if (!problems.empty() || insist) return kBadConfig;
  if (!arguments.check_config) return std::nullopt;
  std::cout << agent::print_config(settings.config);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGHUP, SIG_IGN);  // until the agent can reload
  Arguments arguments;
  CLI::App cli("Logarithm's agent: collects the logs of training jobs and ships them.");
  cli.set_version_flag("--version", std::string("logarithm-agent " LGR_VERSION));
  cli.add_option("--config", arguments.line.config, "YAML file (see config/agent.example.yaml)");
  cli.add_flag("--check-config", arguments.check_config,
               "print what is wrong with the configuration (exit 78), or the effective one");
  cli.add_option("--aggregator", arguments.line.aggregator, "URL, default ws://127.0.0.1:7400");
  cli.add_option("--state-dir", arguments.line.state_dir,
                 "where positions and unsent data are kept");
  cli.add_option("--proc-root", arguments.line.proc_root, "default /proc");
  cli.add_option("--metrics", arguments.line.metrics, "HOST:PORT or off, default 127.0.0.1:7401");
  cli.add_flag("--once", arguments.line.once, "read to the end, ship, print a summary, exit");
  cli.add_flag("--verbose", arguments.line.verbose, "debug messages");
  CLI::App* rules_command =
      cli.add_subcommand("test-rules", "what rules extract from the lines on standard input");
  rules_command->add_option("RULES", arguments.rule_files, "rule files beside the shipped packs");
  rules_command->add_option("--stream", arguments.rule_stream,
                            "the lines are of this stream, like stdout or kernel (default: of any, "
                            "whatever streams a rule asks for)");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return cli.exit(problem) == 0 ? 0 : kUsage;
  }
  logarithm::init_logging(arguments.line.verbose);
  if (rules_command->parsed()) {
    return agent::test_rules(arguments.rule_files, arguments.rule_stream, std::cin, std::cout,
                             std::cerr);
  }
  if (!arguments.check_config) {
    arguments.line.state_home = variable("XDG_STATE_HOME");
    arguments.line.home = variable("HOME");
  }
  agent::Settings settings;
  if (const auto ended = configure(arguments, settings)) return *ended;

  // Somebody waits for a run that ends.
  if (settings.config.give_way && !settings.config.once) agent::give_way();
  const auto again = [line = arguments.line] { return agent::reload_settings(line); };
  auto app = agent::App::make(settings, again);
  // A full disk is no reason to end: it is tried again until there is room. (A signal ends it.)
  while (!app.ok() && app.error().code() == logarithm::ErrorCode::no_space &&
         !settings.config.once) {
    LGR_WARN("waiting for room on the disk error={}", app.error().message());
    ::poll(nullptr, 0, kWaitForRoomMs);
    app = agent::App::make(settings, again);
  }
  if (!app.ok()) {
    LGR_ERROR("cannot start: {}", app.error().message());
    return app.error().code() == logarithm::ErrorCode::invalid ? kBadConfig : kFailure;
  }
  const auto outcome = (*app)->run();
  if (!outcome.ok()) {
    LGR_ERROR("{}", outcome.error().message());
    return kFailure;
  }
  return 0;
}
