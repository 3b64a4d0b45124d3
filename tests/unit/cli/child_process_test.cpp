#include "cli/child_process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>

#include "cli/agent_run.h"
#include "tests/support/temp_dir.h"

namespace logarithm::cli {
namespace {

int wait_for(ChildProcess& child) {
  for (;;) {
    if (auto status = child.poll()) return *status;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

TEST_CASE("ChildProcess: output goes to its files and the status comes back") {
  test::TempDir dir;
  const std::string out = dir.file("out"), err = dir.file("err");
  auto child =
      ChildProcess::start({"/bin/sh", "-c", "echo hello; echo oops >&2; exit 7"}, out, err);
  REQUIRE(child.ok());

  CHECK(wait_for(*child) == 7);
  CHECK(end_of_file(out, 100) == "hello\n");
  CHECK(end_of_file(err, 100) == "oops\n");
}

TEST_CASE("ChildProcess: a program that does not exist is an error that names it") {
  auto child = ChildProcess::start({"/nonexistent/program"}, "", "");

  REQUIRE_FALSE(child.ok());
  CHECK(child.error().code() == ErrorCode::not_found);
  CHECK(child.error().message().find("/nonexistent/program") != std::string::npos);
}

TEST_CASE("ChildProcess: a killed program has 128 + signal") {
  auto child = ChildProcess::start({"/bin/sh", "-c", "kill -KILL $$"}, "", "");
  REQUIRE(child.ok());

  CHECK(wait_for(*child) == 128 + SIGKILL);
}

TEST_CASE("ChildProcess: the destructor ends what still runs") {
  test::TempDir dir;
  {
    auto child = ChildProcess::start({"/bin/sh", "-c",
                                      "trap 'echo ended; exit' TERM; echo up; "
                                      "while :; do :; done"},
                                     dir.file("out"), "");
    REQUIRE(child.ok());
    while (end_of_file(dir.file("out"), 100).empty()) ::poll(nullptr, 0, 1);
  }
  CHECK(end_of_file(dir.file("out"), 100) == "up\nended\n");
}

}  // namespace logarithm::cli
