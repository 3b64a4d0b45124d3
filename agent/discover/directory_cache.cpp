#include "agent/discover/directory_cache.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <utility>

namespace logarithm::agent {
namespace {

// File times come from a clock that ticks every few milliseconds: a change that soon after the
// listing may bear the same time.
constexpr UnixNanos kTimeGrain = 50'000'000;
constexpr std::size_t kManyDirectories = 256;
constexpr UnixNanos kSlowCheck = 1'000'000'000;

std::optional<UnixNanos> modified_time(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool is_kernel_tree(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return true;
  return status.f_type == PROC_SUPER_MAGIC || status.f_type == SYSFS_MAGIC;
}

}  // namespace

bool DirectoryCache::is_fresh(const Listing& listing, std::optional<UnixNanos> modified,
                              UnixNanos now) {
  if (listing.listed_at == 0 || listing.modified != modified) return false;
  if (now < listing.listed_at || now - listing.listed_at > kMaxAge) return false;
  return !modified || listing.listed_at - *modified > kTimeGrain;
}

const std::vector<DirectoryEntry>* DirectoryCache::list(BlockingToken& token,
                                                        const std::string& path, UnixNanos now) {
  Listing& listing = listings_[path];
  listing.used = true;
  const auto modified = modified_time(path);
  if (is_fresh(listing, modified, now)) return listing.readable ? &listing.entries : nullptr;
  listing.entries.clear();
  listing.modified = modified;
  listing.listed_at = now;
  listing.readable = false;
  if (!modified || is_kernel_tree(path)) return nullptr;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return nullptr;
  while (const dirent* found = ::readdir(directory)) {
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    DirectoryEntry entry;
    entry.name = name;
    const std::string full = path + "/" + entry.name;
    struct stat status {};
    if (::lstat(full.c_str(), &status) != 0) continue;
    entry.directory = S_ISDIR(status.st_mode);
    entry.link = S_ISLNK(status.st_mode);
    if (!entry.directory) entry.file = regular_file(token, full);
    listing.entries.push_back(std::move(entry));
  }
  ::closedir(directory);
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  listing.readable = true;
  return &listing.entries;
}

bool DirectoryCache::changed(BlockingToken&, UnixNanos now) {
  if (listings_.size() > kManyDirectories && now >= last_check_ && now - last_check_ < kSlowCheck) {
    return false;
  }
  last_check_ = now;
  return std::any_of(listings_.begin(), listings_.end(), [&](const auto& entry) {
    return !is_fresh(entry.second, modified_time(entry.first), now);
  });
}

void DirectoryCache::forget_unused() {
  for (auto at = listings_.begin(); at != listings_.end();) {
    at = std::exchange(at->second.used, false) ? std::next(at) : listings_.erase(at);
  }
}

}  // namespace logarithm::agent
