#include "agent/follow/write_counter.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

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
  by_watch_.clear();
  by_folder_.clear();
}

bool WriteCounter::watch(const std::string& path) {
  if (files_.contains(path)) return true;
  if (files_.size() >= kMostFiles) return false;
  if (fd_ < 0) fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd_ < 0) return false;
  // The directory first: no event of the file may come alone.
  const int folder = ::inotify_add_watch(fd_, directory_of(path).c_str(), IN_MODIFY | IN_ONLYDIR);
  const int watch = folder < 0 ? -1 : ::inotify_add_watch(fd_, path.c_str(), IN_MODIFY);
  // One inode under two names cannot be told apart.
  if (watch < 0 || by_watch_.contains(watch)) {
    if (folder >= 0 && !by_folder_.contains(folder)) ::inotify_rm_watch(fd_, folder);
    if (files_.empty()) close();
    return false;
  }
  auto& entry = *files_.emplace(path, File{watch, folder}).first;
  by_watch_[watch] = &entry;
  by_folder_[folder][std::string(name_of(path))] = &entry.second;
  return true;
}

void WriteCounter::forget(const std::string& path) {
  const auto file = files_.find(path);
  if (file == files_.end()) return;
  const auto [watch, folder] = std::pair(file->second.watch, file->second.folder);
  ::inotify_rm_watch(fd_, watch);
  by_watch_.erase(watch);
  Names& names = by_folder_[folder];
  names.erase(std::string(name_of(path)));
  if (names.empty()) {
    ::inotify_rm_watch(fd_, folder);
    by_folder_.erase(folder);
  }
  files_.erase(file);
  if (files_.empty()) close();
}

WriteCounter::Counts WriteCounter::take() {
  Counts out;
  if (fd_ < 0) return out;
  std::vector<std::pair<const std::string, File>*> written;
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
      if (event.len == 0) {
        const auto file = by_watch_.find(event.wd);
        if (file == by_watch_.end()) continue;
        if (file->second->second.fresh++ == 0) written.push_back(file->second);
        continue;
      }
      const auto folder = by_folder_.find(event.wd);
      if (folder == by_folder_.end()) continue;
      const auto file = folder->second.find(std::string_view(name));
      if (file != folder->second.end()) ++file->second->named;
    }
  }
  for (auto* entry : written) {
    File& file = entry->second;
    file.own += file.fresh;
    // The directory's event comes first, and the file's may be a moment behind.
    const bool merged = file.own > file.named || file.named > file.own + kUnderWay;
    const std::uint64_t fresh = std::exchange(file.fresh, 0);
    out[entry->first] = merged ? std::nullopt : std::optional(fresh);
  }
  if (overflow) {
    for (const auto& [path, file] : files_) out[path] = std::nullopt;
  }
  return out;
}

void WriteCounter::wait(BlockingToken&, std::chrono::milliseconds longest) {
  if (fd_ < 0) return;
  pollfd wanted{fd_, POLLIN, 0};
  static_cast<void>(::poll(&wanted, 1, static_cast<int>(longest.count())));
}

}  // namespace logarithm::agent
