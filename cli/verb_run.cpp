#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <sstream>

#include "cli/run_child.h"
#include "cli/run_environment.h"
#include "cli/run_place.h"
#include "cli/run_relay.h"
#include "cli/verb.h"
#include "common/base/clock.h"
#include "common/model/job_name.h"
#include "common/model/run_environment.h"

namespace logarithm::cli {
namespace {

constexpr std::chrono::hours kKeep{24 * 7};
constexpr std::size_t kRemoveAtOnce = 50;
// Agents look at who runs ten times a second, and again at what is young.
constexpr std::chrono::milliseconds kSeenAfter{2000};
constexpr int kHighFd = 10;  // above what shells use

bool is_same_file(int a, int b) {
  struct stat left {
  }, right{};
  return ::fstat(a, &left) == 0 && ::fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

// Nobody sees what is shown there.
bool is_nowhere(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return true;
  return S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3);
}

// The file of a stream, for appending; locked as long as anybody writes (see remove_old_runs).
Result<int> open_log(const std::string& file, int more_flags) {
  const int fd = ::open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | more_flags, 0600);
  if (fd < 0) return errno_error(errno, "open " + file);
  ::flock(fd, LOCK_SH | LOCK_NB);
  return fd;
}

// Where the output goes that a terminal, a pipe or a file was meant to get.
struct Shown {
  int out = -1, err = -1;

  // Keeps what standard output and error are now.
  static Shown keep() {
    return {::fcntl(STDOUT_FILENO, F_DUPFD, kHighFd), ::fcntl(STDERR_FILENO, F_DUPFD, kHighFd)};
  }
  // What keep() kept before this program became itself again; else what there is now.
  static Shown inherited(const EnvironmentList& environment) {
    Shown out;
    std::istringstream text(get_variable(environment, run_environment::kShown).value_or(""));
    const auto usable = [](int fd) { return fd == -1 || ::fcntl(fd, F_GETFD) >= 0; };  // -1: closed
    const bool said = text >> out.out >> out.err && usable(out.out) && usable(out.err);
    if (!said) out = keep();
    for (const int fd : {out.out, out.err}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return out;
  }
  std::string to_text() const { return std::to_string(out) + " " + std::to_string(err); }
  // As if nothing had been.
  void give_back() const {
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
  }
};

class RunVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "run", "Run a command whose output the agent follows");
    app_->add_option("CMD", command_, "The command and its arguments, after --");
    app_->add_option("--job", job_,
                     "The job's name (default: what the environment says, else the command's name "
                     "with the time)");
    app_->add_option("--attempt", attempt_, "Which attempt at the job this is")
        ->check(CLI::NonNegativeNumber);
    app_->add_option("--dir", dir_,
                     "Where the output is kept (default: $XDG_STATE_HOME/logarithm/run, else "
                     "~/.local/state/logarithm/run)");
    app_->add_flag("--plain", plain_,
                   "On a terminal too: do not ask programs for colours and prompt output");
    app_->footer(
        "Standard output and error go into files, and from there to where they went before. The "
        "command is never held up: neither by the agent nor by us. Signals are passed on, and so "
        "is the exit status (128 + n for a signal n). Runs that are over and quiet for 7 days are "
        "removed.");
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner&, const Options& options) override {
    if (command_.empty()) {
      return usage(Error(ErrorCode::invalid, "run needs a command: logarithm run -- CMD…"));
    }
    if (const auto problem = problem_of_job_name(job_)) {
      return usage(Error(ErrorCode::invalid, "--job: the name " + *problem));
    }
    EnvironmentList environment = options.environment;
    const auto files = get_variable(environment, run_environment::kFiles);
    if (!files) return prepare(options, std::move(environment));
    if (get_variable(environment, run_environment::kHolder)) return hold(*files);
    const Shown shown = Shown::inherited(environment);
    unset_variable(environment, run_environment::kFiles);
    unset_variable(environment, run_environment::kShown);
    return run_into(*files, shown, options, std::move(environment));
  }

 private:
  // The first half: chooses the place, and becomes a process that says in its environment which job
  // it is. Agents know a process by nothing else, so its output is the files by then.
  int prepare(const Options& options, EnvironmentList environment) {
    const SystemClock clock;
    RunPlaceRequest request;
    request.now = clock.wall_now();
    request.pid = ::getpid();
    request.base = dir_;
    if (request.base.empty()) {
      request.base = default_base(get_variable(environment, "XDG_STATE_HOME").value_or(""),
                                  get_variable(environment, "HOME").value_or(""));
    }
    request.job = job_.empty() ? job_in(environment) : job_;
    if (request.job.empty()) request.job = made_up_job(request.now);
    const bool stated = app_->count("--attempt") != 0;
    if (stated) set_variable(environment, "LOGARITHM_ATTEMPT", std::to_string(attempt_));
    request.count_attempts =
        !get_variable(environment, "LOGARITHM_ATTEMPT") && !has_ranks(environment, command_);
    set_variable(environment, "LOGARITHM_JOB", request.job);
    auto place = make_place(request);
    if (!place.ok() && place.error().code() == ErrorCode::invalid) return usage(place.error());
    const Shown shown = Shown::keep();
    Status made = place.ok() ? make_files(*place) : Status(place.error());
    if (!made.ok()) {
      shown.give_back();
      return uncaptured(made.error(), options, std::move(environment));
    }
    if (place->attempt) {
      set_variable(environment, "LOGARITHM_ATTEMPT", std::to_string(*place->attempt));
    }
    remove_old_runs(request.base, request.now, kKeep, kRemoveAtOnce);
    RunChildRequest again = ourselves(place->directory, options, environment);
    set_variable(again.environment, std::string(run_environment::kShown), shown.to_text());
    const Error failed = become_command(again);
    shown.give_back();
    return uncaptured(failed, options, std::move(environment));
  }

  // This very command with its files known.
  RunChildRequest ourselves(const std::string& directory, const Options& options,
                            const EnvironmentList& environment) const {
    RunChildRequest out;
    out.command = {own_path(), "run"};
    if (plain_) out.command.emplace_back("--plain");
    out.command.emplace_back("--");
    out.command.insert(out.command.end(), command_.begin(), command_.end());
    out.environment = environment;
    set_variable(out.environment, run_environment::kFiles, directory);
    out.signals = options.signals;
    return out;
  }

  std::string made_up_job(UnixNanos now) const {
    const std::string name = command_[0].substr(command_[0].rfind('/') + 1);
    return (name.empty() ? "run" : name) + "-" + std::to_string(now / 1'000'000'000) + "-" +
           std::to_string(::getpid());
  }

  static std::string own_path() {
    std::error_code unknown;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (unknown || !std::filesystem::exists(path, unknown)) return "/proc/self/exe";
    return path.string();
  }

  // Standard output and error become the files; both the same one where they were one before.
  static Status make_files(const RunPlace& place) {
    const bool one = is_same_file(STDOUT_FILENO, STDERR_FILENO);
    LGR_TRY(const int out, open_log(place.file("stdout"), O_CREAT | O_EXCL));
    int err = out;
    if (!one) {
      LGR_TRY(err, open_log(place.file("stderr"), O_CREAT | O_EXCL));
    }
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::close(out);
    if (!one) ::close(err);
    return {};
  }

  // Whatever is wrong with our files: a training that does not start would be worse.
  int uncaptured(const Error& why, const Options& options, EnvironmentList environment) {
    std::fprintf(stderr, "logarithm: the output is not kept: %s\n", why.message().c_str());
    RunChildRequest request;
    request.command = command_;
    request.environment = std::move(environment);
    request.signals = options.signals;
    return cannot_start(become_command(request));
  }

  static int cannot_start(const Error& error) {
    std::fprintf(stderr, "logarithm: %s\n", error.message().c_str());
    return error.code() == ErrorCode::not_found ? 127 : 126;
  }

  // The second half. Our own standard output stays the file: so an agent sees who writes it, also
  // when the command is a shell, or over before anybody looks.
  int run_into(const std::string& directory, const Shown& shown, const Options& options,
               EnvironmentList environment) {
    const MonotonicTime began = clock_.now();
    const RunPlace place{directory, std::nullopt};
    const auto out = open_log(place.file("stdout"), 0);
    if (!out.ok()) {
      shown.give_back();
      return uncaptured(out.error(), options, std::move(environment));
    }
    const auto own_err = open_log(place.file("stderr"), 0);
    const int err = own_err.ok() ? *own_err : *out;
    if (!plain_ && ::isatty(shown.out) == 1) {
      struct winsize window {};
      ::ioctl(shown.out, TIOCGWINSZ, &window);
      act_like_a_terminal(environment, window.ws_col, window.ws_row);
    }
    hold_signals();
    RunChildRequest request;
    request.command = command_;
    request.environment = environment;
    request.signals = options.signals;
    request.out = *out;
    request.err = err;
    const auto child = start_child(request);
    if (!child.ok()) {
      shown.give_back();
      for (const char* stream : {"stdout", "stderr"}) ::unlink(place.file(stream).c_str());
      ::rmdir(directory.c_str());
      return cannot_start(child.error());
    }
    ::dup2(*out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::close(*out);
    if (own_err.ok()) ::close(err);
    const int status =
        show_until_end(place, *child, options.signals, shown.out, own_err.ok() ? shown.err : -1);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - began);
    if (age < kSeenAfter) leave_holder(ourselves(directory, options, environment));
    return status;
  }

  // The status of the command. `shown_err`: -1 when both streams are one file.
  static int show_until_end(const RunPlace& place, pid_t child, const SignalState& signals,
                            int shown_out, int shown_err) {
    std::list<Relay> relays;
    const auto show = [&](const char* stream, int target) {
      if (target < 0 || is_nowhere(target)) return;
      const int source = ::open(place.file(stream).c_str(), O_RDONLY | O_CLOEXEC);
      // When nobody reads: what the command would have met if it had written there itself.
      if (source >= 0) relays.emplace_back(source, target, [child] { ::kill(child, SIGPIPE); });
    };
    show("stdout", shown_out);
    show("stderr", shown_err);
    const auto ended = wait_for_child(child);
    if (ended.ok()) note_status(place, *ended);
    // From here on signals are for us: a reader that takes nothing must not hold us for ever.
    signals.restore();
    ::signal(SIGPIPE, SIG_IGN);
    for (Relay& relay : relays) relay.finish();
    // Our own hold on the files; who has one now is a child that the command left behind.
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    std::vector<Rest> rests;
    for (const Relay& relay : relays) {
      if (relay.is_broken() || !is_held(relay.source())) continue;
      rests.push_back(Rest{relay.source(), relay.target(), relay.position()});
    }
    // It writes to where we wrote, for as long as it lives, and that stays open so long: as it
    // would have been without us. We leave.
    if (!rests.empty() && ::fork() == 0) {
      show_rest(std::move(rests));
      ::_exit(0);
    }
    return ended.ok() ? shell_status(*ended) : kExitFailure;
  }

  // A run that is over before an agent has looked would be missed: a process of its own stays for
  // a moment and holds the two files. It says which run it belongs to, so that an agent that has
  // seen both takes them for one.
  static void leave_holder(RunChildRequest request) {
    const auto began = start_ticks();
    if (!began) return;
    set_variable(request.environment, std::string(run_environment::kHolder), *began);
    // Waits until it is what it is: nobody may see it without its mark after our end.
    const auto started = start_child(request);
    if (!started.ok()) std::fprintf(stderr, "logarithm: %s\n", started.error().message().c_str());
  }

  // Of this process: /proc/PID/stat, field 22.
  static std::optional<std::string> start_ticks() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name may hold anything
    std::string field;
    for (int number = 3; number <= 22; ++number) fields >> field;
    if (!fields) return std::nullopt;
    return field;
  }

  // Without any tie to those who write or read the run's output, but the two files.
  static int hold(const std::string& directory) {
    const RunPlace place{directory, std::nullopt};
    ::setsid();
    ::close_range(0, ~0u, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    const int out = ::open(place.file("stdout").c_str(), O_WRONLY | O_APPEND);
    const int err = ::open(place.file("stderr").c_str(), O_WRONLY | O_APPEND);
    if (null != STDIN_FILENO || out != STDOUT_FILENO || ::chdir("/") != 0) return kExitFailure;
    if (err != STDERR_FILENO) ::dup2(out, STDERR_FILENO);
    const auto nanos = std::chrono::nanoseconds(kSeenAfter).count();
    struct timespec left {
      static_cast<std::time_t>(nanos / 1'000'000'000), nanos % 1'000'000'000
    };
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    return 0;
  }

  CLI::App* app_ = nullptr;
  std::vector<std::string> command_;
  std::string job_, dir_;
  std::int32_t attempt_ = 0;
  bool plain_ = false;
  SystemClock clock_;
};

}  // namespace

std::unique_ptr<Verb> make_run() { return std::make_unique<RunVerb>(); }

}  // namespace logarithm::cli
