#include "agent/discover/container.h"

#include <algorithm>
#include <cstddef>

namespace logarithm::agent {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string container_id(std::string_view cgroup) {
  constexpr std::size_t kLength = 64;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= cgroup.size(); ++i) {
    if (i < cgroup.size() && is_hex(cgroup[i])) {
      ++run;
      continue;
    }
    if (run == kLength) return std::string(cgroup.substr(i - kLength, kLength));
    run = 0;
  }
  return {};
}

std::string pod_uid(std::string_view cgroup) {
  constexpr std::string_view kPod = "pod";
  constexpr std::size_t kDashed = 36, kPlain = 32;  // a static pod's uid is a hash without dashes
  for (std::size_t at = cgroup.find(kPod); at != std::string_view::npos;
       at = cgroup.find(kPod, at + 1)) {
    // "kubepods" and "libpod-…" have the letters too: the uid stands alone in its component.
    if (at == 0 || (cgroup[at - 1] != '/' && cgroup[at - 1] != '-')) continue;
    std::string_view uid = cgroup.substr(at + kPod.size());
    uid = uid.substr(0, uid.find_first_of("/.:\n"));
    const bool fits = uid.size() == kDashed || uid.size() == kPlain;
    if (!fits || cgroup.find("kubepods") == std::string_view::npos) continue;
    std::string out(uid);
    std::replace(out.begin(), out.end(), '_', '-');
    if (std::all_of(out.begin(), out.end(), [](char c) { return is_hex(c) || c == '-'; })) {
      return out;
    }
  }
  return {};
}

}  // namespace logarithm::agent
