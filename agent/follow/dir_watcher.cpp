#include "agent/follow/dir_watcher.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr std::uint32_t kMask =
    IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR;

}  // namespace

DirWatcher::DirWatcher(bool enabled) {
  if (!enabled) return;
  fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd_ < 0) {
    warned_ = true;
    LGR_WARN("no inotify ({}), polling; see sysctl fs.inotify.max_user_instances",
             std::strerror(errno));
  }
}

DirWatcher::~DirWatcher() {
  if (fd_ >= 0) ::close(fd_);
}

bool DirWatcher::watch(const std::set<std::string>& directories) {
  if (fd_ < 0) return directories.empty();
  for (auto it = watches_.begin(); it != watches_.end();) {
    if (directories.contains(it->first)) {
      ++it;
      continue;
    }
    auto names = directories_.find(it->second);
    if (names != directories_.end()) {
      names->second.erase(it->first);
      if (names->second.empty()) {
        ::inotify_rm_watch(fd_, it->second);
        directories_.erase(names);
      }
    }
    it = watches_.erase(it);
  }
  bool all = true;
  for (const std::string& directory : directories) {
    if (watches_.contains(directory)) continue;
    const int watch = ::inotify_add_watch(fd_, directory.c_str(), kMask);
    if (watch >= 0) {
      watches_[directory] = watch;
      directories_[watch].insert(directory);
      continue;
    }
    all = false;
    if ((errno == ENOSPC || errno == EMFILE) && !warned_) {
      warned_ = true;
      LGR_WARN("inotify is full, polling the rest; see sysctl fs.inotify.max_user_watches");
    }
  }
  return all;
}

DirWatcher::Events DirWatcher::drain() {
  Events out;
  if (fd_ < 0) return out;
  alignas(inotify_event) char buffer[16 << 10];
  // Bounded: what is left wakes us again.
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t got = ::read(fd_, buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) out.everything = true;
      const auto names = directories_.find(event.wd);
      if (names == directories_.end()) continue;
      if ((event.mask & IN_IGNORED) != 0) {
        // The directory is gone; a new one under the same name is watched again.
        for (const std::string& directory : names->second) watches_.erase(directory);
        directories_.erase(names);
        out.everything = true;
        continue;
      }
      if (event.len == 0) continue;
      for (const std::string& directory : names->second) {
        std::string path = directory + "/" + std::string(name);
        if (out.paths.empty() || out.paths.back() != path) out.paths.push_back(std::move(path));
      }
    }
  }
  return out;
}

}  // namespace logarithm::agent
