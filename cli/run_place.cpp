#include "cli/run_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <vector>

#include "common/model/run_environment.h"

namespace logarithm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttempt = "attempt-";
constexpr std::string_view kFiles[] = {"stdout.log", "stderr.log", run_environment::kStatusFile};
constexpr std::int32_t kMostTries = 1000;
constexpr std::size_t kMostLooks = 10'000;

// Slashes make directories; what would leave the base, or collide with our own names, is refused.
Status check_job(std::string_view job) {
  const Error bad(ErrorCode::invalid, "--job: no name for a directory: " + std::string(job));
  if (job.empty() || job.find('\0') != std::string_view::npos) return bad;
  while (true) {
    const std::size_t slash = std::min(job.find('/'), job.size());
    const std::string_view part = job.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 200) return bad;
    if (part.starts_with(kAttempt)) return bad;
    if (slash == job.size()) return {};
    job.remove_prefix(slash + 1);
  }
}

std::string time_text(UnixNanos now) {
  const auto seconds = static_cast<std::time_t>(now / 1'000'000'000);
  struct tm parts {};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &parts);
  return std::string(text, size);
}

std::int32_t next_attempt(const std::string& directory) {
  std::int32_t next = 0;
  std::error_code problem;
  fs::directory_iterator at(directory, problem);
  for (; !problem && at != fs::directory_iterator(); at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kAttempt)) continue;
    std::int32_t number = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kAttempt.size(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end) next = std::max(next, number + 1);
  }
  return next;
}

Status make_directories(const std::string& directory) {
  std::error_code problem;
  fs::create_directories(directory, problem);
  if (problem) return errno_error(problem.value(), "create " + directory);
  return {};
}

// A directory named as ours, with nothing but our files in it.
bool is_run(const fs::path& directory, std::vector<fs::path>& files) {
  const std::string name = directory.filename().string();
  const std::size_t dash = name.find('-');
  if (dash != 15 || name[8] != 'T') return false;
  std::error_code problem;
  fs::directory_iterator at(directory, problem);
  for (; !problem && at != fs::directory_iterator(); at.increment(problem)) {
    const std::string file = at->path().filename().string();
    if (std::find(std::begin(kFiles), std::end(kFiles), file) == std::end(kFiles)) return false;
    files.push_back(at->path());
  }
  return !problem;
}

// Whoever writes holds a lock on it, as long as it has the file open.
bool is_over(const fs::path& file, UnixNanos before) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat facts {};
  const bool old = ::fstat(fd, &facts) == 0 &&
                   UnixNanos{facts.st_mtim.tv_sec} * 1'000'000'000 < before &&
                   ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return old;
}

}  // namespace

std::string default_base(const std::string& xdg_state_home, const std::string& home) {
  if (xdg_state_home.starts_with('/')) return xdg_state_home + "/logarithm/run";
  if (home.starts_with('/')) return home + "/.local/state/logarithm/run";
  return {};
}

Result<RunPlace> make_place(const RunPlaceRequest& request) {
  LGR_CHECK(check_job(request.job));
  if (request.base.empty()) return Error(ErrorCode::invalid, "no HOME, and no --dir");
  RunPlace out;
  std::string parent = request.base + "/" + request.job;
  LGR_CHECK(make_directories(parent));
  if (request.count_attempts) {
    // mkdir decides between two that start at once.
    std::int32_t number = next_attempt(parent);
    int tries = 0;
    while (::mkdir((parent + "/" + std::string(kAttempt) + std::to_string(number)).c_str(), 0777)) {
      if (errno != EEXIST || ++tries == kMostTries) {
        return errno_error(errno, "create a directory in " + parent);
      }
      ++number;
    }
    out.attempt = number;
    parent += "/" + std::string(kAttempt) + std::to_string(number);
  }
  out.directory = parent + "/" + time_text(request.now) + "-" + std::to_string(request.pid);
  // What a job says may be nobody else's business.
  if (::mkdir(out.directory.c_str(), 0700) != 0) {
    return errno_error(errno, "create " + out.directory);
  }
  return out;
}

void note_status(const RunPlace& place, int status) {
  const std::string file = place.directory + "/" + std::string(run_environment::kStatusFile);
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  const std::string text = std::to_string(status) + "\n";
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::unlink(file.c_str());
  }
  ::close(fd);
}

void remove_old_runs(const std::string& base, UnixNanos now, std::chrono::nanoseconds keep,
                     std::size_t most) {
  const UnixNanos before = now - keep.count();
  std::size_t looks = 0;
  std::vector<fs::path> over;
  std::error_code problem;
  fs::recursive_directory_iterator at(base, problem);
  while (!problem && at != fs::recursive_directory_iterator() && ++looks < kMostLooks &&
         over.size() < most) {
    std::error_code ignored;
    std::vector<fs::path> files;
    if (at->is_directory(ignored) && !at->is_symlink(ignored) && is_run(at->path(), files)) {
      at.disable_recursion_pending();
      const bool all = std::all_of(files.begin(), files.end(),
                                   [&](const fs::path& file) { return is_over(file, before); });
      if (!files.empty() && all) over.push_back(at->path());
    }
    at.increment(problem);
  }
  for (const fs::path& run : over) {
    for (const std::string_view file : kFiles) ::unlink((run / file).c_str());
    ::rmdir(run.c_str());
  }
}

}  // namespace logarithm::cli
