#include "common/io/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace logarithm {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override { ::close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  Status append(BlockingToken&, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno_error(errno, "write " + path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  Result<std::string> read_at(BlockingToken&, std::uint64_t offset, std::size_t count) override {
    std::string out(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got =
          ::pread(fd_, out.data() + have, count - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_error(errno, "read " + path_);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    out.resize(have);
    return out;
  }

  Status sync(BlockingToken&) override {
    if (::fdatasync(fd_) != 0) return errno_error(errno, "fdatasync " + path_);
    return {};
  }

  Status truncate(BlockingToken&, std::uint64_t size) override {
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      return errno_error(errno, "truncate " + path_);
    }
    return {};
  }

  Result<std::uint64_t> size(BlockingToken&) override {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) return errno_error(errno, "stat " + path_);
    return static_cast<std::uint64_t>(info.st_size);
  }

 private:
  int fd_;
  std::string path_;
};

Result<std::unique_ptr<File>> open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600);
  if (fd < 0) return errno_error(errno, "open " + path);
  return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, path));
}

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open_append(BlockingToken&,
                                                           const std::string& path) {
  return open_file(path, O_RDWR | O_APPEND | O_CREAT);
}

Result<std::unique_ptr<File>> PosixFileSystem::open_read(BlockingToken&, const std::string& path) {
  return open_file(path, O_RDONLY);
}

Result<std::vector<std::string>> PosixFileSystem::list(BlockingToken&,
                                                       const std::string& directory) {
  DIR* handle = ::opendir(directory.c_str());
  if (handle == nullptr) return errno_error(errno, "list " + directory);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int failed = errno;
  ::closedir(handle);
  if (failed != 0) return errno_error(failed, "list " + directory);
  std::sort(names.begin(), names.end());
  return names;
}

Status PosixFileSystem::rename(BlockingToken&, const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return errno_error(errno, "rename " + from + " to " + to);
  }
  return {};
}

Status PosixFileSystem::remove(BlockingToken&, const std::string& path) {
  if (::unlink(path.c_str()) != 0) return errno_error(errno, "remove " + path);
  return {};
}

Status PosixFileSystem::sync_dir(BlockingToken&, const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno_error(errno, "open " + directory);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0) return errno_error(failed, "fsync " + directory);
  return {};
}

Result<std::uint64_t> PosixFileSystem::free_bytes(BlockingToken&, const std::string& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return errno_error(errno, "statvfs " + directory);
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

Status PosixFileSystem::make_dir(BlockingToken&, const std::string& path) {
  for (std::size_t i = 1; i <= path.size(); ++i) {
    if (i != path.size() && path[i] != '/') continue;
    if (::mkdir(path.substr(0, i).c_str(), 0700) != 0 && errno != EEXIST && i == path.size()) {
      return errno_error(errno, "make directory " + path);
    }
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error(errno, "stat " + path);
  if (!S_ISDIR(info.st_mode)) return errno_error(ENOTDIR, path);
  return {};
}

Result<std::unique_ptr<File>> PosixFileSystem::lock(BlockingToken&, const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno_error(errno, "open " + path);
  auto file = std::make_unique<PosixFile>(fd, path);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error(ErrorCode::conflict, path + " is locked by another process");
    }
    return errno_error(errno, "lock " + path);
  }
  return std::unique_ptr<File>(std::move(file));
}

}  // namespace logarithm
