#include "cli/run_child.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace logarithm::cli {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

Error exec_error(int number, const std::string& program) {
  const ErrorCode code = number == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return Error(code, program + ": " + errno_error(number, "exec").message());
}

// All but those that cannot be held, that report a fault of our own, or that are about us alone.
sigset_t passed_on() {
  sigset_t out;
  ::sigemptyset(&out);
  for (int number = 1; number < NSIG; ++number) {
    switch (number) {
      case SIGKILL:
      case SIGSTOP:
      case SIGSEGV:
      case SIGBUS:
      case SIGFPE:
      case SIGILL:
      case SIGTRAP:
      case SIGSYS:
      case SIGPIPE:
      case SIGTTIN:
      case SIGTTOU:
      case SIGCHLD: break;
      default: ::sigaddset(&out, number);
    }
  }
  return out;
}

// The kernel sends these to the whole group of the terminal: the command has got it already.
bool is_from_terminal(const signalfd_siginfo& info) {
  if (info.ssi_code != SI_KERNEL) return false;
  const auto number = static_cast<int>(info.ssi_signo);
  return number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGWINCH ||
         number == SIGHUP || number == SIGCONT;
}

// What a shell sees when Ctrl-Z stops the command: a stopped job. A plain SIGSTOP to the command is
// somebody's who looks at it, and does not concern us.
bool stops_us(const siginfo_t& info) {
  return info.si_code == CLD_STOPPED &&
         (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU);
}

// Its status as waitpid gives it when the child has ended; -1 when it runs on.
int look_at_child(pid_t child) {
  while (true) {
    siginfo_t info{};
    const int flags = WEXITED | WSTOPPED | WNOHANG;
    if (::waitid(P_PID, static_cast<id_t>(child), &info, flags) != 0 || info.si_pid == 0) return -1;
    if (info.si_code == CLD_EXITED) return W_EXITCODE(info.si_status, 0);
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
      return W_EXITCODE(0, info.si_status);
    }
    if (stops_us(info)) ::kill(::getpid(), SIGSTOP);
  }
}

}  // namespace

Error become_command(const RunChildRequest& request) {
  const std::vector<char*> argv = pointers(request.command);
  const std::vector<char*> environment = pointers(request.environment);
  request.signals.restore();
  ::execvpe(argv[0], argv.data(), environment.data());
  return exec_error(errno, request.command[0]);
}

Result<pid_t> start_child(const RunChildRequest& request) {
  const std::vector<char*> argv = pointers(request.command);
  const std::vector<char*> environment = pointers(request.environment);
  int report[2];  // closed by a successful exec, else carries its errno
  if (::pipe2(report, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (request.out >= 0) ::dup2(request.out, STDOUT_FILENO);
    if (request.err >= 0) ::dup2(request.err, STDERR_FILENO);
    request.signals.restore();
    ::execvpe(argv[0], argv.data(), environment.data());
    const int failure = errno;
    const ssize_t told = ::write(report[1], &failure, sizeof failure);
    ::_exit(told == sizeof failure ? 127 : 126);
  }
  const int fork_errno = errno;
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return errno_error(fork_errno, "fork");
  }
  int failure = 0;
  ssize_t got = 0;
  do {
    got = ::read(report[0], &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (got != sizeof failure) return pid;
  ::waitpid(pid, nullptr, 0);
  return exec_error(failure, request.command[0]);
}

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void hold_signals() {
  sigset_t held = passed_on();
  ::sigaddset(&held, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &held, nullptr);
  // Ignored, they would vanish, and the command may have a handler of its own. SIGCHLD: our
  // children would vanish without telling.
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    const bool ignored = ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (ignored && ::sigismember(&held, number) == 1) ::signal(number, SIG_DFL);
  }
}

Result<int> wait_for_child(pid_t child) {
  sigset_t held = passed_on();
  ::sigaddset(&held, SIGCHLD);
  const int signals = ::signalfd(-1, &held, SFD_CLOEXEC);
  if (signals < 0) return errno_error(errno, "signalfd");
  int status = look_at_child(child);
  while (status < 0) {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) {
      if (errno == EINTR) continue;
      break;
    }
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) {
      status = look_at_child(child);
    } else if (!is_from_terminal(info)) {
      ::kill(child, number);
    }
  }
  ::close(signals);
  if (status < 0) return errno_error(errno, "wait");
  return status;
}

}  // namespace logarithm::cli
