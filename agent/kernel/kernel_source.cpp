#include "agent/kernel/kernel_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace logarithm::agent {
namespace {

constexpr std::size_t kRecord = 32u << 10;  // the kernel's own limit is 8 KiB

Error refused(int code, const std::string& what) {
  if (code == EACCES || code == EPERM) return Error(ErrorCode::io, "permission denied");
  return errno_error(code, what);
}

}  // namespace

KmsgSource::~KmsgSource() {
  if (fd_ >= 0) ::close(fd_);
}

void KmsgSource::rewind() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<KernelSource::Read> KmsgSource::next(BlockingToken&) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) return refused(errno, "open " + path_);
  buffer_.resize(kRecord);
  Read out;
  const ssize_t got = ::read(fd_, buffer_.data(), buffer_.size());
  if (got >= 0) {
    out.kind = got == 0 ? Kind::nothing : Kind::record;
    out.record.assign(buffer_, 0, static_cast<std::size_t>(got));
    return out;
  }
  const int code = errno;
  if (code == EAGAIN || code == EINTR) return out;
  if (code == EPIPE) {
    out.kind = Kind::overwritten;
    return out;
  }
  ::close(fd_);
  fd_ = -1;
  return refused(code, "read " + path_);
}

}  // namespace logarithm::agent
