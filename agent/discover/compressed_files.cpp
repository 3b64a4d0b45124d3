#include "agent/discover/compressed_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace logarithm::agent {
namespace {

constexpr std::size_t kMagicBytes = 6;
constexpr std::size_t kMaxKnown = 100'000;

// The first bytes, if it (still) is a regular file.
std::string read_head(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  char head[kMagicBytes];
  struct stat status {};
  ssize_t size = 0;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    size = ::pread(fd, head, sizeof head, 0);
  ::close(fd);
  return size > 0 ? std::string(head, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

bool has_compressed_magic(std::string_view head) {
  return head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd") ||
         head.starts_with(std::string_view("\xfd"
                                           "7zXZ\0",
                                           6)) ||
         head.starts_with("BZh");
}

bool CompressedFiles::check(BlockingToken&, const std::string& path, const ProcFileFacts& facts) {
  if (facts.size < kMagicBytes) return false;
  if (known_.size() > kMaxKnown) known_.clear();
  const auto at = known_.find(path);
  if (at != known_.end() && at->second.first == facts.inode) return at->second.second;
  const bool compressed = has_compressed_magic(read_head(path));
  known_[path] = {facts.inode, compressed};
  return compressed;
}

}  // namespace logarithm::agent
