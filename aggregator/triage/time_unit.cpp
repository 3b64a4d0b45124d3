#include "aggregator/triage/time_unit.h"

#include <algorithm>
#include <cctype>

#include "common/line/template.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kTimedKeys = 32;  // that are remembered

}  // namespace

std::optional<double> time_unit(const std::string& key) {
  for (const char* end : {"_ms", "(ms)", " ms"}) {
    if (key.ends_with(end)) return 1e6;
  }
  for (const char* end : {"_s", "_sec", "_secs", "seconds"}) {
    if (key.ends_with(end) && !key.ends_with("per_s")) return 1e9;
  }
  return std::nullopt;
}

bool may_be_duration(const std::string& key) {
  if (time_unit(key)) return false;
  if (key.ends_with("_in")) return true;
  for (const char* word : {"time", "took", "elapsed", "duration", "latency", "wait"}) {
    if (key.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string_view unit_behind(std::string_view text, std::string_view key) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto same = [](char a, char b) {
    const bool blank = b == '_' && (a == ' ' || a == '-' || a == '/');
    return blank || std::tolower(static_cast<unsigned char>(a)) == b;
  };
  auto at = text.begin();
  for (;;) {
    at = std::search(at, text.end(), key.begin(), key.end(), same);
    if (at == text.end()) return {};
    std::string_view rest(&*at, static_cast<std::size_t>(text.end() - at));
    ++at;
    rest.remove_prefix(key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" :="), rest.size()));
    if (rest.empty() || rest[0] != kSlot) continue;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_letter);
    const std::string_view unit = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    if (unit == "ms" || unit == "msec" || unit == "milliseconds") return "_ms";
    if (unit == "s" || unit == "sec" || unit == "secs" || unit == "seconds") return "_s";
  }
}

bool TimedKeys::contain(const std::string& key) {
  const auto known = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (known != known_.end()) return known->second;
  const bool timed = time_unit(key) || may_be_duration(key);
  if (known_.size() < kTimedKeys) known_.emplace_back(key, timed);
  return timed;
}

}  // namespace logarithm::aggregator::triage
