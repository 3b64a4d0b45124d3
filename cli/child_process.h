#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace logarithm::cli {

// A program that this one started and that must not outlive it: it is ended by the destructor, and
// by the kernel if we are killed.
class ChildProcess {
 public:
  // Starts arguments[0]. stdin is empty; stdout and stderr go to the files, or stay ours where the
  // name is empty. Error{io, not_found} when it cannot be started.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                    const std::string& stdout_file, const std::string& stderr_file);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  // The exit status (128 + signal for a killed one) once it has ended; does not wait.
  std::optional<int> poll();
  // SIGTERM, then SIGKILL after 5 s. Waits for the end.
  void stop();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1: not ours any more
  std::optional<int> status_;
};

}  // namespace logarithm::cli
