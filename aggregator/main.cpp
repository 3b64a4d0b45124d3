#include <CLI/CLI.hpp>
#include <iostream>

#include "aggregator/aggregator_config.h"
#include "aggregator/app.h"
#include "common/base/logging.h"
#include "common/io/descriptors.h"

namespace {

constexpr int kFailure = 1, kUsage = 64, kBadConfig = 78;

struct Arguments {
  std::string config, listen, data_dir, ready_file;
  bool check_config = false;
};

// Fills `config`; an exit code when the program ends here.
std::optional<int> configure(const Arguments& arguments,
                             logarithm::aggregator::AggregatorConfig& config) {
  namespace aggregator = logarithm::aggregator;
  logarithm::config::Problems problems;
  if (!arguments.config.empty()) {
    auto loaded = aggregator::load_config(arguments.config, config, problems);
    if (!loaded.ok()) {
      std::cerr << loaded.error().message() << "\n";
      return kBadConfig;
    }
  }
  if (!arguments.listen.empty()) config.listen = arguments.listen;
  if (!arguments.data_dir.empty()) config.data_dir = arguments.data_dir;
  if (!arguments.ready_file.empty()) config.ready_file = arguments.ready_file;
  const std::string where = arguments.config.empty() ? "command line" : arguments.config;
  auto more = aggregator::validate(config, where);
  problems.insert(problems.end(), more.begin(), more.end());
  if (!problems.empty()) {
    std::cerr << logarithm::config::to_string(problems);
    return kBadConfig;
  }
  if (!arguments.check_config) return std::nullopt;
  std::cout << aggregator::print_config(config);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App cli("Logarithm's aggregator: stores what agents send and answers questions about it.");
  cli.set_version_flag("--version", std::string("logarithm-aggregator " LGR_VERSION));
  cli.add_option("--config", arguments.config, "YAML file (see config/aggregator.example.yaml)");
  cli.add_flag("--check-config", arguments.check_config,
               "print what is wrong with the configuration (exit 78), or the effective one");
  cli.add_option("--listen", arguments.listen, "HOST:PORT, default 127.0.0.1:7400; port 0 picks");
  cli.add_option("--data-dir", arguments.data_dir, "where shards and catalogue are kept");
  cli.add_option("--ready-file", arguments.ready_file, "gets host:port when it serves");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return cli.exit(problem) == 0 ? 0 : kUsage;
  }
  logarithm::init_logging(false);
  logarithm::aggregator::AggregatorConfig config;
  if (auto ended = configure(arguments, config)) return *ended;

  logarithm::raise_descriptor_limit();
  auto app = logarithm::aggregator::App::make(std::move(config));
  if (!app.ok()) {
    LGR_ERROR("cannot start: {}", app.error().message());
    return kFailure;
  }
  auto outcome = (*app)->run();
  if (!outcome.ok()) {
    LGR_ERROR("stopped: {}", outcome.error().message());
    return kFailure;
  }
  return 0;
}
