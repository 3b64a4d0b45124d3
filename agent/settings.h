#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_config.h"
#include "common/rules/rule_set.h"

namespace logarithm::agent {

// What the command line says; it goes over the file, again with every reload.
struct CommandLine {
  std::string config;  // the file; empty: none
  std::string aggregator, state_dir, proc_root, metrics;
  bool once = false, verbose = false;
  std::string state_home, home;  // XDG_STATE_HOME and HOME: where `logarithm run` keeps its files
};

// A configuration ready for use.
struct Settings {
  AgentConfig config;
  std::shared_ptr<const RuleSet> rules;
  std::vector<std::string> rule_problems;  // rules that were refused; the others run
};

// Reads file, command line and rules. Error: the file cannot be read or is no YAML; else `problems`
// has what is wrong with the configuration (rules aside). Blocks.
Result<Settings> load_settings(const CommandLine& line, config::Problems& problems);

// The rules of a configuration; what is wrong in them, and with the files that it names, goes to
// `problems`. Blocks.
std::shared_ptr<const RuleSet> load_rules(const AgentConfig& config, config::Problems& problems,
                                          const RuleSet::Options& options = {});

// The same for a reload, where any mistake of the configuration is an Error with all of them: what
// runs stays. A bad rule is no such mistake: as at the start it is left out, and the others run.
Result<Settings> reload_settings(const CommandLine& line);

// Reads the configuration again; called on a thread that may block.
using SettingsSource = std::function<Result<Settings>()>;

// Keys that differ and that only a start takes in, as the file names them.
std::vector<std::string> needs_restart(const AgentConfig& running, const AgentConfig& wanted);

}  // namespace logarithm::agent
