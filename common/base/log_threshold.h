#pragma once

#include <optional>
#include <string_view>

// From which severity our own log speaks; apart from logging.h, which everything includes.
namespace logarithm {

enum class LogThreshold { debug, info, warning, error };

std::string_view to_string(LogThreshold threshold);
std::optional<LogThreshold> parse_log_threshold(std::string_view text);
// For the whole process, at once. Any thread.
void set_log_threshold(LogThreshold threshold);

}  // namespace logarithm
