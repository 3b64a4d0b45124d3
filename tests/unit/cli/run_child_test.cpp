#include "cli/run_child.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>

namespace logarithm::cli {

TEST_CASE("Run: the command's status is what a shell says of it") {
  CHECK(shell_status(W_EXITCODE(0, 0)) == 0);
  CHECK(shell_status(W_EXITCODE(3, 0)) == 3);
  CHECK(shell_status(W_EXITCODE(0, SIGKILL)) == 137);
  CHECK(shell_status(W_EXITCODE(0, SIGSEGV) | 0x80) == 139);  // with a core
}

}  // namespace logarithm::cli
