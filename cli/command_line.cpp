#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/unknown_word.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

struct Globals {
  std::string config;
  bool check_config = false;
  CLI::Option* server = nullptr;
  CLI::Option* token = nullptr;
  CLI::Option* output = nullptr;
};

void add_globals(CLI::App& app, Options& options, Globals& globals) {
  globals.server = app.add_option("--server", options.server, "URL of the aggregator")
                       ->envname("LOGARITHM_SERVER")
                       ->capture_default_str();
  globals.token =
      app.add_option("--token", options.token, "Bearer token")->envname("LOGARITHM_TOKEN");
  globals.output = app.add_option("--output", options.output, "How answers are written")
                       ->check(CLI::IsMember({"text", "json", "ndjson", "raw"}))
                       ->capture_default_str();
  app.add_option("--config", globals.config, "YAML file with server, token, output");
  app.add_flag("--check-config", globals.check_config,
               "Check the configuration, print what is in force, exit");
  app.set_version_flag("--version", "logarithm " LGR_VERSION);
}

// Takes from the file what neither the command line nor the environment gave; kExitOk to go on.
int apply_config(const Globals& globals, Options& options) {
  if (globals.config.empty()) return kExitOk;
  Options file;
  auto problems = load_config(globals.config, file);
  const std::string text =
      problems.ok() ? config::to_string(*problems) : problems.error().message() + "\n";
  if (!problems.ok() || !problems->empty()) {
    std::fputs(text.c_str(), stderr);
    return kExitConfig;
  }
  if (globals.server->count() == 0) options.server = file.server;
  if (globals.token->count() == 0) options.token = file.token;
  if (globals.output->count() == 0) options.output = file.output;
  return kExitOk;
}

int parse(CLI::App& app, std::vector<std::string> arguments) {
  const std::vector<std::string> written = arguments;
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError& problem) {
    return usage(Error(ErrorCode::invalid, unknown_word(app, written).value_or(problem.what())));
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem) == 0 ? -1 : kExitUsage;
    return usage(Error(ErrorCode::invalid, problem.what()));
  }
  return kExitOk;
}

}  // namespace

int run_command_line(std::vector<std::string> arguments, Options surroundings) {
  Options options = std::move(surroundings);
  Globals globals;
  CLI::App app("Asks a Logarithm aggregator about the logs of training jobs.", "logarithm");
  add_globals(app, options, globals);
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_jobs());
  verbs.push_back(make_query());
  verbs.push_back(make_tail());
  verbs.push_back(make_run());
  verbs.push_back(make_context());
  verbs.push_back(make_import());
  verbs.push_back(make_export());
  verbs.push_back(make_series());
  verbs.push_back(make_callsites());
  verbs.push_back(make_triage());
  verbs.push_back(make_compare());
  verbs.push_back(make_correlate());
  verbs.push_back(make_hide());
  for (const auto& verb : verbs) verb->add_to(app);
  app.require_subcommand(0, 1);

  const int parsed = parse(app, std::move(arguments));
  if (parsed != kExitOk) return parsed < 0 ? kExitOk : parsed;
  options.output_stated = globals.output->count() != 0;
  if (const int wrong = apply_config(globals, options); wrong != kExitOk) return wrong;
  const auto url = net::parse_url(options.server);
  if (!url.ok()) return usage(Error(ErrorCode::invalid, "--server: " + url.error().message()));
  if (url->scheme != "http") {
    return usage(Error(ErrorCode::invalid, "--server must be an http:// URL: " + options.server));
  }
  if (globals.check_config) {
    std::fputs(describe(options).c_str(), stdout);
    return kExitOk;
  }
  for (const auto& verb : verbs) {
    if (!verb->chosen()) continue;
    Runner runner;
    return verb->run(runner, options);
  }
  std::fputs(app.help().c_str(), stderr);
  return kExitUsage;
}

}  // namespace logarithm::cli
