#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>

#include "aggregator/app.h"
#include "aggregator/data_lock.h"
#include "aggregator/settings.h"
#include "aggregator/store/doctor.h"
#include "common/async/worker_pool.h"
#include "common/base/logging.h"
#include "common/io/descriptors.h"

namespace {

constexpr int kFailure = 1, kUsage = 64, kBadConfig = 78;

struct Arguments {
  logarithm::aggregator::CommandLine line;
  bool check_config = false;
  // doctor
  std::string doctor_dir, output = "text";
  bool read_only = false;
};

// Fills `config`; an exit code when the program ends here.
std::optional<int> configure(const Arguments& arguments,
                             logarithm::aggregator::AggregatorConfig& config) {
  namespace aggregator = logarithm::aggregator;
  logarithm::config::Problems problems;
  auto loaded = aggregator::load_settings(arguments.line, problems);
  if (!loaded.ok()) {
    std::cerr << loaded.error().message() << "\n";
    return kBadConfig;
  }
  config = std::move(*loaded);
  if (!problems.empty()) {
    std::cerr << logarithm::config::to_string(problems);
    return kBadConfig;
  }
  if (!arguments.check_config) return std::nullopt;
  std::cout << aggregator::print_config(config);
  return 0;
}

int examine_data(const Arguments& arguments, std::string data_dir) {
  namespace aggregator = logarithm::aggregator;
  if (!std::filesystem::is_directory(data_dir)) {
    std::cerr << data_dir << ": no such directory\n";
    return kFailure;
  }
  std::optional<logarithm::Result<aggregator::DataLock>> lock;
  if (!arguments.read_only) {
    lock.emplace(aggregator::DataLock::take(data_dir));
    if (!lock->ok()) {
      std::cerr << lock->error().message() << "; stop it, or look only with --read-only\n";
      return kFailure;
    }
  }
  aggregator::DoctorOptions options;
  options.data_dir = std::move(data_dir);
  options.read_only = arguments.read_only;
  logarithm::WorkerPool worker(1);
  const auto report = worker.run_and_wait(
      [&](logarithm::BlockingToken& token) { return aggregator::examine(token, options); });
  if (!report.ok()) {
    std::cerr << report.error().message() << "\n";
    return kFailure;
  }
  std::cout << (arguments.output == "json" ? aggregator::to_json(*report)
                                           : aggregator::to_text(*report));
  return report->healthy() ? 0 : kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGHUP, SIG_IGN);  // until the aggregator can reload
  Arguments arguments;
  CLI::App cli("Logarithm's aggregator: stores what agents send and answers questions about it.");
  cli.set_version_flag("--version", std::string("logarithm-aggregator " LGR_VERSION));
  cli.add_option("--config", arguments.line.config,
                 "YAML file (see config/aggregator.example.yaml)");
  cli.add_flag("--check-config", arguments.check_config,
               "print what is wrong with the configuration (exit 78), or the effective one");
  cli.add_option("--listen", arguments.line.listen,
                 "HOST:PORT, default 127.0.0.1:7400; port 0 picks");
  cli.add_option("--data-dir", arguments.line.data_dir, "where shards and catalogue are kept");
  cli.add_option("--ready-file", arguments.line.ready_file, "gets host:port when it serves");
  CLI::App* doctor = cli.add_subcommand(
      "doctor", "examines a data directory; what is damaged is moved aside (exit 1), not deleted");
  doctor->add_option("--data-dir", arguments.doctor_dir, "default: that of the configuration");
  doctor->add_option("--config", arguments.line.config, "YAML file");
  doctor->add_option("--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  doctor->add_flag("--read-only", arguments.read_only,
                   "look only; also beside a running aggregator");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return cli.exit(problem) == 0 ? 0 : kUsage;
  }
  logarithm::init_logging(false);
  logarithm::aggregator::AggregatorConfig config;
  if (auto ended = configure(arguments, config)) return *ended;

  if (doctor->parsed()) {
    return examine_data(arguments,
                        arguments.doctor_dir.empty() ? config.data_dir : arguments.doctor_dir);
  }
  logarithm::raise_descriptor_limit();
  const auto again = [line = arguments.line] {
    return logarithm::aggregator::reload_settings(line);
  };
  auto app = logarithm::aggregator::App::make(std::move(config), again);
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
