#include "common/config/reload_state.h"

#include <algorithm>
#include <utility>

#include "common/base/logging.h"

namespace logarithm::config {

void ReloadState::note(const Status& reloaded, std::vector<std::string> restart) {
  last_failed = !reloaded.ok();
  problems.clear();
  if (reloaded.ok()) {
    ++succeeded;
    needs_restart = std::move(restart);
    for (const std::string& key : needs_restart) {
      LGR_WARN("changed, but needs a restart key={}", key);
    }
    return;
  }
  ++failed;
  LGR_ERROR("not reloaded, the former configuration stays");
  const std::string& message = reloaded.error().message();
  for (std::size_t begin = 0; begin < message.size() && problems.size() < kMostProblems;) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    problems.push_back(message.substr(begin, end - begin));
    LGR_ERROR("reload: {}", problems.back());
    begin = end + 1;
  }
}

std::string ReloadState::metrics_text(const std::string& program) const {
  const std::string name = "logarithm_" + program + "_reloads_total";
  std::string out = "# TYPE " + name + " counter\n";
  out += name + "{result=\"ok\"} " + std::to_string(succeeded) + "\n";
  out += name + "{result=\"failed\"} " + std::to_string(failed) + "\n";
  const std::string last = "logarithm_" + program + "_last_reload_successful";
  out += "# TYPE " + last + " gauge\n" + last + " " + (last_failed ? "0" : "1") + "\n";
  return out;
}

}  // namespace logarithm::config
