#include "agent/run_files.h"

namespace logarithm::agent {
namespace {

std::string literal_regex(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '_' || c == '/' || static_cast<unsigned char>(c) >= 0x80;
    if (!plain) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::optional<FilePattern> run_files(const std::string& xdg_state_home, const std::string& home) {
  std::string base;
  if (xdg_state_home.starts_with('/')) {
    base = xdg_state_home + "/logarithm/run";
  } else if (home.starts_with('/') && home.size() > 1) {
    base = home + "/.local/state/logarithm/run";
  } else {
    return std::nullopt;
  }
  FilePattern out;
  out.glob = base + "/**/*.log";
  // <base>/<job>/[attempt-<N>/]<time>-<pid>/<stream>.log, as the command line makes it.
  out.path = "^" + literal_regex(base) +
             "/(?P<job>.+?)/(?:attempt-(?P<attempt>\\d+)/)?\\d{8}T\\d{6}-\\d+/"
             "(?P<stream>stdout|stderr)\\.log$";
  return out;
}

}  // namespace logarithm::agent
