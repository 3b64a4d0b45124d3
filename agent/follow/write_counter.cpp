#include "agent/follow/write_counter.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

#include "agent/follow/file_identity.h"

namespace logarithm::agent {
namespace {

constexpr std::uint64_t kUnderWay = 16;  // writers in the middle of a write

}  // namespace

WriteCounter::~WriteCounter() { close(); }

void WriteCounter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  files_.clear();
  folders_.clear();
}

bool WriteCounter::watch(const std::string& path) {
  if (files_.contains(path)) return true;
  if (files_.size() >= kMostFiles) return false;
  if (fd_ < 0) fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd_ < 0) return false;
  const std::string directory = directory_of(path);
  // The directory first: no event of the file may come alone.
  const int folder = ::inotify_add_watch(fd_, directory.c_str(), IN_MODIFY | IN_ONLYDIR);
  const int file = folder < 0 ? -1 : ::inotify_add_watch(fd_, path.c_str(), IN_MODIFY);
  if (file < 0) {
    if (folder >= 0 && !folders_.contains(directory)) ::inotify_rm_watch(fd_, folder);
    if (files_.empty()) close();
    return false;
  }
  files_[path].watch = file;
  auto& [watch, users] = folders_[directory];
  watch = folder;
  ++users;
  return true;
}

void WriteCounter::forget(const std::string& path) {
  const auto file = files_.find(path);
  if (file == files_.end()) return;
  ::inotify_rm_watch(fd_, file->second.watch);
  files_.erase(file);
  const auto folder = folders_.find(directory_of(path));
  if (folder != folders_.end() && --folder->second.second == 0) {
    ::inotify_rm_watch(fd_, folder->second.first);
    folders_.erase(folder);
  }
  if (files_.empty()) close();
}

WriteCounter::Counts WriteCounter::take() {
  Counts out;
  if (fd_ < 0) return out;
  std::map<std::pair<int, std::string>, std::uint64_t> events;  // (watch, name in the directory)
  bool overflow = false;
  alignas(inotify_event) char buffer[32 << 10];
  while (true) {  // ends with the queue, whose length the kernel bounds
    const ssize_t got = ::read(fd_, buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      ++events_;
      overflow = overflow || (event.mask & IN_Q_OVERFLOW) != 0;
      if ((event.mask & IN_MODIFY) == 0) continue;
      ++events[{event.wd, event.len == 0 ? std::string() : std::string(name)}];
    }
  }
  for (auto& [path, file] : files_) {
    const std::uint64_t own = events[{file.watch, std::string()}];
    file.own += own;
    file.named += events[{folders_.at(directory_of(path)).first, name_of(path)}];
    if (own == 0 && !overflow) continue;
    // The directory's event comes first, and the file's may be a moment behind.
    const bool merged = file.own > file.named || file.named > file.own + kUnderWay;
    out[path] = overflow || merged ? std::nullopt : std::optional(own);
  }
  return out;
}

void WriteCounter::wait(BlockingToken&, std::chrono::milliseconds longest) {
  if (fd_ < 0) return;
  pollfd wanted{fd_, POLLIN, 0};
  static_cast<void>(::poll(&wanted, 1, static_cast<int>(longest.count())));
}

}  // namespace logarithm::agent
