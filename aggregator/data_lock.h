#pragma once

#include <string>
#include <utility>

#include "common/base/result.h"

namespace logarithm::aggregator {

// Holds a data directory for one process, until destroyed or killed (flock on <dir>/lock).
class DataLock {
 public:
  // Creates the directory where needed. Error{conflict} when another process has it.
  static Result<DataLock> take(const std::string& directory);
  ~DataLock();
  DataLock(DataLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DataLock& operator=(DataLock&&) = delete;

 private:
  explicit DataLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace logarithm::aggregator
