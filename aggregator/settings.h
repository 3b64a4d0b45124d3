#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aggregator/aggregator_config.h"
#include "aggregator/http/json_text.h"
#include "common/config/reload_state.h"

namespace logarithm::aggregator {

// What the command line says; it goes over the file, again with every reload.
struct CommandLine {
  std::string config;  // the file; empty: none
  std::string listen, data_dir, ready_file;
};

// Reads file and command line. Error: the file cannot be read or is no YAML; else `problems` has
// what is wrong. Blocks.
Result<AggregatorConfig> load_settings(const CommandLine& line, config::Problems& problems);
// The same for a reload, where any mistake is an Error with all of them: what runs stays.
Result<AggregatorConfig> reload_settings(const CommandLine& line);
// Keys that differ and that only a start takes in, as the file names them.
std::vector<std::string> needs_restart(const AggregatorConfig& running,
                                       const AggregatorConfig& wanted);

// Reads the configuration again; called on a thread that may block.
using SettingsSource = std::function<Result<AggregatorConfig>()>;

// "reload": how they went. For the status.
void write_reloads(const config::ReloadState& state, JsonWriter& out);

}  // namespace logarithm::aggregator
