#include "aggregator/ready_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "common/base/logging.h"

namespace logarithm::aggregator {

Status write_ready_file(const std::string& file, const std::string& address) {
  const std::string temporary = file + "." + std::to_string(::getpid()) + ".tmp";
  std::ofstream out(temporary, std::ios::trunc);
  out << address << "\n";
  out.close();
  if (!out) return Error(ErrorCode::io, "write " + temporary);
  if (std::rename(temporary.c_str(), file.c_str()) != 0)
    return errno_error(errno, "rename to " + file);
  return {};
}

void remove_ready_file(const std::string& file) {
  if (std::remove(file.c_str()) != 0 && errno != ENOENT) {
    LGR_WARN("ready file not removed file={} errno={}", file, errno);
  }
}

}  // namespace logarithm::aggregator
