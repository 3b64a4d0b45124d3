#include "agent/discover/fresh_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace logarithm::agent {

FreshFiles::~FreshFiles() {
  for (const auto& [id, held] : held_) ::close(held.fd);
}

void FreshFiles::begin() {
  for (auto& [id, held] : held_) held.found = false;
}

bool FreshFiles::hold(BlockingToken&, const FileRegistry::Configured& file) {
  const auto at = held_.find(id_of(file.facts));
  if (at != held_.end()) {
    at->second.found = true;
    return true;
  }
  if (held_.size() >= kMost) return false;
  // It was a regular file a moment ago; should it be a pipe by now, nobody is held up.
  const int fd = ::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat facts {};
  const bool same = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                    FileId{facts.st_dev, facts.st_ino} == id_of(file.facts);
  if (!same) {
    ::close(fd);
    return false;
  }
  held_.emplace(id_of(file.facts), Held{.file = file, .fd = fd, .found = true});
  return true;
}

std::vector<FileRegistry::Configured> FreshFiles::vanished(BlockingToken&) {
  std::vector<FileRegistry::Configured> out;
  for (auto at = held_.begin(); at != held_.end();) {
    Held& held = at->second;
    struct stat facts {};
    bool keep = held.found;
    if (!held.found && ::fstat(held.fd, &facts) == 0) {
      ++held.walks_missing;
      // With a name it is found by it, and is fresh no more.
      if (facts.st_nlink == 0 && facts.st_size > 0 && !held.given) {
        held.given = true;
        held.walks_missing = 0;
        FileRegistry::Configured file = held.file;
        file.open_path = "/proc/self/fd/" + std::to_string(held.fd);
        file.facts.size = static_cast<std::uint64_t>(facts.st_size);
        out.push_back(std::move(file));
      }
      keep = facts.st_nlink == 0 && held.walks_missing < (held.given ? kAfterGiven : kPatience);
    }
    if (keep) {
      ++at;
    } else {
      ::close(held.fd);
      at = held_.erase(at);
    }
  }
  return out;
}

}  // namespace logarithm::agent
