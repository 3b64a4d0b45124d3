#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace logarithm::cli {
namespace {

constexpr int kStopTurns = 250;  // of 20 ms: 5 s
constexpr int kTurnMs = 20;

int open_output(const std::string& file) {
  if (file.empty()) return -1;
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

// In the child, between fork and exec: only calls that are safe there. Does not return.
[[noreturn]] void become(char* const* argv, int in, int out, int err, int report, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);  // a Ctrl-C is for us; we end our children ourselves
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(in, STDIN_FILENO);
  if (out >= 0) ::dup2(out, STDOUT_FILENO);
  if (err >= 0) ::dup2(err, STDERR_FILENO);
  ::dup2(report, 3);
  ::close_range(4, ~0u, 0);
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  ::execv(argv[0], argv);
  const int failure = errno;
  const ssize_t told = ::write(3, &failure, sizeof failure);
  ::_exit(told == sizeof failure ? 127 : 126);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::string& stdout_file,
                                         const std::string& stderr_file) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int report[2];  // closed by a successful exec, else carries its errno
  if (::pipe2(report, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = open_output(stdout_file);
  const int err = open_output(stderr_file);
  const pid_t parent = ::getpid();
  // Until it has dropped our handlers a signal to the child would run them, and one of them writes
  // into a pipe that it shares with us.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become(argv.data(), in, out, err, report[1], parent);
  const int fork_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int fd : {in, out, err, report[1]}) {
    if (fd >= 0) ::close(fd);
  }
  if (pid < 0) {
    ::close(report[0]);
    return errno_error(fork_errno, "fork");
  }
  ChildProcess child(pid);
  int failure = 0;
  ssize_t got = 0;
  do {
    got = ::read(report[0], &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (got == sizeof failure) return errno_error(failure, arguments[0]);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess::~ChildProcess() { stop(); }

std::optional<int> ChildProcess::poll() {
  if (status_ || pid_ < 0) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void ChildProcess::stop() {
  if (pid_ < 0 || poll()) return;
  ::kill(pid_, SIGTERM);
  for (int turn = 0; turn < kStopTurns && !poll(); ++turn) ::poll(nullptr, 0, kTurnMs);
  if (poll()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = 128 + SIGKILL;
}

}  // namespace logarithm::cli
