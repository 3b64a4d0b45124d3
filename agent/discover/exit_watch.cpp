#include "agent/discover/exit_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace logarithm::agent {

ExitWatch::~ExitWatch() {
  for (const auto& [pid, fd] : fds_) ::close(fd);
}

bool ExitWatch::add(BlockingToken&, std::int32_t pid) {
  if (fds_.contains(pid)) return true;
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);  // close-on-exec by itself
  if (fd < 0) return false;
  fds_.emplace(pid, static_cast<int>(fd));
  return true;
}

void ExitWatch::remove(std::int32_t pid) {
  const auto at = fds_.find(pid);
  if (at == fds_.end()) return;
  ::close(at->second);
  fds_.erase(at);
}

std::vector<std::int32_t> ExitWatch::exited(BlockingToken&) const {
  std::vector<std::int32_t> out;
  if (fds_.empty()) return out;
  std::vector<pollfd> polled;
  polled.reserve(fds_.size());
  for (const auto& [pid, fd] : fds_) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  if (::poll(polled.data(), polled.size(), 0) <= 0) return out;
  auto at = polled.begin();
  for (const auto& [pid, fd] : fds_) {
    if ((at++)->revents != 0) out.push_back(pid);
  }
  return out;
}

std::vector<int> ExitWatch::fds() const {
  std::vector<int> out;
  out.reserve(fds_.size());
  for (const auto& [pid, fd] : fds_) out.push_back(fd);
  return out;
}

}  // namespace logarithm::agent
