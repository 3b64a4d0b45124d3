#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::agent {

// The kernel's log as a seam: /dev/kmsg in production, made-up records in tests. One thread.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  enum class Kind {
    record,
    nothing,      // read to its end; more may come
    overwritten,  // records are gone; the next call gives the oldest that is left
  };
  struct Read {
    Kind kind = Kind::nothing;
    std::string record;
  };
  // Does not wait. Error: it cannot be read; the next call tries to open it again.
  virtual Result<Read> next(BlockingToken&) = 0;
  // The next call gives the oldest record that is left.
  virtual void rewind() = 0;
};

// A device that gives one record a read(), opened with the first next().
class KmsgSource final : public KernelSource {
 public:
  explicit KmsgSource(std::string path) : path_(std::move(path)) {}
  ~KmsgSource() override;
  KmsgSource(const KmsgSource&) = delete;
  KmsgSource& operator=(const KmsgSource&) = delete;
  Result<Read> next(BlockingToken&) override;
  void rewind() override;

 private:
  std::string path_;
  int fd_ = -1;
  std::string buffer_;
};

}  // namespace logarithm::agent
