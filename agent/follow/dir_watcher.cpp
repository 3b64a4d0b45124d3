#include "agent/follow/dir_watcher.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr std::uint32_t kWrites = IN_MODIFY | IN_ATTRIB | IN_ONESHOT | IN_ONLYDIR;
// Of the directory alone: the kernel does not even look for them when a file in it is written.
constexpr std::uint32_t kFates = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
constexpr std::uint32_t kNames = IN_CREATE | IN_ONLYDIR;

}  // namespace

DirWatcher::DirWatcher(bool enabled) {
  if (!enabled) return;
  writes_.fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  fates_.fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  names_.fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (writes_.fd < 0 || fates_.fd < 0 || names_.fd < 0) {
    warned_ = true;
    LGR_WARN("no inotify ({}), polling; see sysctl fs.inotify.max_user_instances",
             std::strerror(errno));
  }
}

DirWatcher::~DirWatcher() {
  if (writes_.fd >= 0) ::close(writes_.fd);
  if (fates_.fd >= 0) ::close(fates_.fd);
  if (names_.fd >= 0) ::close(names_.fd);
}

bool DirWatcher::watch(const std::set<std::string>& directories) {
  std::erase_if(awake_, [&](const auto& directory) { return !directories.contains(directory); });
  std::set<std::string> armed;
  for (const std::string& directory : directories) {
    if (!awake_.contains(directory)) armed.insert(directory);
  }
  const bool names = watch(names_, directories, kNames);
  const bool fates = watch(fates_, directories, kFates);
  return watch(writes_, armed, kWrites) && names && fates;
}

void DirWatcher::arm(const std::string& directory) {
  if (awake_.erase(directory) == 0) return;
  std::set<std::string> armed{directory};
  for (const auto& [other, watch] : writes_.watches) armed.insert(other);
  static_cast<void>(watch(writes_, armed, kWrites));
  if (!writes_.watches.contains(directory)) awake_.insert(directory);
}

bool DirWatcher::watch(Queue& queue, const std::set<std::string>& directories, std::uint32_t mask) {
  if (queue.fd < 0) return directories.empty();
  for (auto it = queue.watches.begin(); it != queue.watches.end();) {
    if (directories.contains(it->first)) {
      ++it;
      continue;
    }
    auto names = queue.directories.find(it->second);
    if (names != queue.directories.end()) {
      names->second.erase(it->first);
      if (names->second.empty()) {
        ::inotify_rm_watch(queue.fd, it->second);
        queue.directories.erase(names);
      }
    }
    it = queue.watches.erase(it);
  }
  bool all = true;
  for (const std::string& directory : directories) {
    if (queue.watches.contains(directory)) continue;
    const int watch = ::inotify_add_watch(queue.fd, directory.c_str(), mask);
    if (watch >= 0) {
      queue.watches[directory] = watch;
      queue.directories[watch].insert(directory);
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
  const bool names = drain(names_, out.created);
  const bool fates = drain(fates_, out.paths);
  std::set<std::string> armed;
  for (const auto& [directory, watch] : writes_.watches) armed.insert(directory);
  drain(writes_, out.paths);
  for (const std::string& directory : armed) {
    if (!writes_.watches.contains(directory)) awake_.insert(directory);
  }
  out.everything = names || fates;
  return out;
}

// True when events were lost, or a directory was.
bool DirWatcher::drain(Queue& queue, std::vector<std::string>& paths) {
  bool everything = false;
  if (queue.fd < 0) return everything;
  alignas(inotify_event) char buffer[16 << 10];
  // Bounded: what is left is taken in the next turn.
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t got = ::read(queue.fd, buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) everything = true;
      const auto names = queue.directories.find(event.wd);
      if (names == queue.directories.end()) continue;
      if ((event.mask & IN_IGNORED) != 0) {
        // The directory is gone; a new one under the same name is watched again.
        for (const std::string& directory : names->second) queue.watches.erase(directory);
        queue.directories.erase(names);
        everything = true;
        continue;
      }
      if (event.len == 0) continue;
      for (const std::string& directory : names->second) {
        std::string path = directory + "/" + std::string(name);
        if (paths.empty() || paths.back() != path) paths.push_back(std::move(path));
      }
    }
  }
  return everything;
}

void DirWatcher::wait_for_write(BlockingToken&, std::chrono::milliseconds longest) {
  if (writes_.fd < 0) return;
  pollfd wanted{writes_.fd, POLLIN, 0};
  static_cast<void>(::poll(&wanted, 1, static_cast<int>(longest.count())));
}

}  // namespace logarithm::agent
