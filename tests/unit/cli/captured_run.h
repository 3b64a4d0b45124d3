#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "tests/support/temp_dir.h"

// Runs the command line in this process, and keeps what it prints.
namespace logarithm::cli {

using Words = std::vector<std::string>;

inline std::string read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Puts stdout and stderr of this process into files while it lives.
class Capture {
 public:
  explicit Capture(const test::TempDir& dir) : out_(dir.file("stdout")), err_(dir.file("stderr")) {
    flush();
    saved_[0] = redirect(STDOUT_FILENO, out_);
    saved_[1] = redirect(STDERR_FILENO, err_);
  }
  ~Capture() { restore(); }
  std::string out() {
    restore();
    return read_file(out_);
  }
  std::string err() {
    restore();
    return read_file(err_);
  }

 private:
  static void flush() {
    std::fflush(stdout);
    std::fflush(stderr);
  }
  static int redirect(int fd, const std::string& file) {
    const int saved = ::dup(fd);
    const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(target, fd);
    ::close(target);
    return saved;
  }
  void restore() {
    if (saved_[0] < 0) return;
    flush();
    ::dup2(saved_[0], STDOUT_FILENO);
    ::dup2(saved_[1], STDERR_FILENO);
    ::close(saved_[0]);
    ::close(saved_[1]);
    saved_[0] = saved_[1] = -1;
  }

  std::string out_, err_;
  int saved_[2] = {-1, -1};
};

struct Outcome {
  int status = -1;
  std::string out, err;
};

inline Outcome run(Words words) {
  test::TempDir dir;
  Capture capture(dir);
  Outcome outcome;
  outcome.status = run_command_line(std::move(words), Options());
  outcome.out = capture.out();
  outcome.err = capture.err();
  return outcome;
}

}  // namespace logarithm::cli
