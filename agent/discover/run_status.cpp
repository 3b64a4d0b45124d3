#include "agent/discover/run_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "common/model/run_environment.h"

namespace logarithm::agent {

std::optional<std::int32_t> run_status(BlockingToken&, const std::string& directory) {
  if (!directory.starts_with('/')) return std::nullopt;
  const std::string file = directory + "/" + std::string(run_environment::kStatusFile);
  // Anybody may have put anything there: nothing but a plain file is read, and little of it.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat facts {};
  char text[16];
  ssize_t size = -1;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) size = ::read(fd, text, sizeof text);
  ::close(fd);
  if (size <= 1 || text[size - 1] != '\n') return std::nullopt;
  std::int32_t status = 0;
  const char* end = text + size - 1;
  const auto [stop, problem] = std::from_chars(text, end, status);
  if (problem != std::errc{} || stop != end || status < 0 || status > 0xFFFF) return std::nullopt;
  return status;
}

}  // namespace logarithm::agent
