#include "aggregator/store/file_identity.h"

#include <sys/stat.h>

#include <cerrno>

namespace logarithm::aggregator {

Result<std::optional<FileIdentity>> identity_of(BlockingToken&, const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileIdentity>();
    return errno_error(errno, "stat " + path);
  }
  return std::optional<FileIdentity>(FileIdentity{facts.st_dev, facts.st_ino});
}

}  // namespace logarithm::aggregator
