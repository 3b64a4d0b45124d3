#include "common/base/logging.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace logarithm {

void init_logging(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>("logarithm",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%f%z [%l] %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace logarithm
