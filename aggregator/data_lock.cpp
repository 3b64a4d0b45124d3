#include "aggregator/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace logarithm::aggregator {

Result<DataLock> DataLock::take(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return errno_error(failed.value(), "create " + directory);
  const std::string path = directory + "/lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno_error(errno, "open " + path);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(fd);
    if (why != EWOULDBLOCK) return errno_error(why, "lock " + path);
    return Error(ErrorCode::conflict, "another aggregator uses " + directory);
  }
  return DataLock(fd);
}

DataLock::~DataLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace logarithm::aggregator
