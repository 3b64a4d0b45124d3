#include "cli/watch_pace.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace logarithm::cli {
namespace {

constexpr double kLeastMs = 1'000, kMostMs = 60'000;
constexpr double kTimesItsCost = 60;
constexpr std::string_view kName = "cpu;dur=";

}  // namespace

std::chrono::milliseconds pause_after(const net::Headers& answer) {
  const std::string_view timing = net::find_header(answer, "Server-Timing").value_or("");
  double cost = 0;
  if (const std::size_t at = timing.find(kName); at != std::string_view::npos) {
    const std::string_view number = timing.substr(at + kName.size());
    std::from_chars(number.data(), number.data() + number.size(), cost);
  }
  if (!(cost >= 0)) cost = 0;
  const double pause = std::clamp(cost * kTimesItsCost, kLeastMs, kMostMs);
  return std::chrono::milliseconds(static_cast<std::int64_t>(pause));
}

}  // namespace logarithm::cli
