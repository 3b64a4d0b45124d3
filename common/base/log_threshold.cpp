#include "common/base/log_threshold.h"

#include <array>
#include <utility>

#include "common/base/logging.h"

namespace logarithm {
namespace {

constexpr std::array<std::pair<LogThreshold, std::string_view>, 4> kNames{
    {{LogThreshold::debug, "debug"},
     {LogThreshold::info, "info"},
     {LogThreshold::warning, "warning"},
     {LogThreshold::error, "error"}}};

spdlog::level::level_enum level_of(LogThreshold threshold) {
  switch (threshold) {
    case LogThreshold::debug: return spdlog::level::debug;
    case LogThreshold::info: return spdlog::level::info;
    case LogThreshold::warning: return spdlog::level::warn;
    case LogThreshold::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

std::string_view to_string(LogThreshold threshold) {
  for (const auto& [value, name] : kNames) {
    if (value == threshold) return name;
  }
  return "info";
}

std::optional<LogThreshold> parse_log_threshold(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

void set_log_threshold(LogThreshold threshold) { spdlog::set_level(level_of(threshold)); }

}  // namespace logarithm
