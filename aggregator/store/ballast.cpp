#include "aggregator/store/ballast.h"

#include <fcntl.h>
#include <unistd.h>

namespace logarithm::aggregator {

void Ballast::take(BlockingToken&, std::uint64_t free_bytes) {
  if (taken_ || free_bytes < 8 * kBytes) return;
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  taken_ = ::posix_fallocate(fd, 0, kBytes) == 0;
  ::close(fd);
  if (!taken_) ::unlink(path_.c_str());
}

bool Ballast::drop(BlockingToken&) {
  const bool there = ::unlink(path_.c_str()) == 0;
  taken_ = false;
  return there;
}

}  // namespace logarithm::aggregator
