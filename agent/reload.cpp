#include "agent/reload.h"

#include <algorithm>

namespace logarithm::agent {
namespace {

constexpr std::size_t kMostProblems = 50;

}  // namespace

std::vector<std::string> describe_failure(const std::string& message) {
  std::vector<std::string> out{"not reloaded, the former configuration stays:"};
  std::size_t begin = 0;
  while (begin < message.size() && out.size() < kMostProblems) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    out.push_back(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string reload_metrics_text(const ReloadState& state) {
  const std::string name = "logarithm_agent_reloads_total";
  std::string out = "# TYPE " + name + " counter\n";
  out += name + "{result=\"ok\"} " + std::to_string(state.succeeded) + "\n";
  out += name + "{result=\"failed\"} " + std::to_string(state.failed) + "\n";
  const std::string last = "logarithm_agent_last_reload_successful";
  out += "# TYPE " + last + " gauge\n" + last + " " + (state.last_failed ? "0" : "1") + "\n";
  return out;
}

}  // namespace logarithm::agent
