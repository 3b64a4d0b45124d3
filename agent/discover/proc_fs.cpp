#include "agent/discover/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

namespace logarithm::agent {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr UnixNanos kSecond = 1'000'000'000;

std::optional<std::int32_t> parse_pid(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::string> read_link(const std::string& path) {
  char buffer[4096];
  const ssize_t size = ::readlink(path.c_str(), buffer, sizeof buffer);
  if (size < 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(size));
}

Result<std::string> read_file(const std::string& path, std::size_t cap) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return errno_error(errno, path);
  std::string out;
  int failure = 0;
  while (out.size() < cap) {
    const std::size_t at = out.size();
    out.resize(std::min(cap, std::max<std::size_t>(4096, at * 2)));
    const ssize_t got = ::read(fd, out.data() + at, out.size() - at);
    if (got < 0) failure = errno;
    out.resize(at + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
  }
  ::close(fd);
  if (failure != 0) return errno_error(failure, path);
  return out;
}

ProcFileFacts facts_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

FdKind kind_of(const struct stat& status, const std::string& link) {
  switch (status.st_mode & S_IFMT) {
    case S_IFREG: return FdKind::regular;
    case S_IFIFO: return FdKind::pipe;
    case S_IFSOCK: return FdKind::socket;
    case S_IFDIR: return FdKind::directory;
    case S_IFCHR:
      if (link == "/dev/null") return FdKind::null_device;
      if (link.starts_with("/dev/pts/") || link.starts_with("/dev/tty")) return FdKind::tty;
      return FdKind::device;
    default: return FdKind::other;
  }
}

// For a link that stat cannot follow (a made-up root, or another mount namespace's terminal).
FdKind kind_of_link(const std::string& link) {
  if (link.starts_with("pipe:[")) return FdKind::pipe;
  if (link.starts_with("socket:[")) return FdKind::socket;
  if (link.starts_with("/dev/pts/") || link.starts_with("/dev/tty")) return FdKind::tty;
  if (link.starts_with("/dev/")) return FdKind::device;
  return FdKind::other;
}

UnixNanos clock_nanos(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

std::string_view to_string(FdKind kind) {
  switch (kind) {
    case FdKind::regular: return "regular";
    case FdKind::pipe: return "pipe";
    case FdKind::socket: return "socket";
    case FdKind::tty: return "tty";
    case FdKind::null_device: return "null";
    case FdKind::device: return "device";
    case FdKind::directory: return "directory";
    case FdKind::other: return "other";
    case FdKind::closed: return "closed";
  }
  return "other";
}

ProcFs::ProcFs(std::string root) : root_(std::move(root)) {
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  struct statfs status {};
  if (::statfs(root_.c_str(), &status) != 0) return;
  // Another pid namespace's procfs shows us under another number there.
  live_ =
      status.f_type == PROC_SUPER_MAGIC && read_link(root_ + "/self") == std::to_string(::getpid());
}

std::string ProcFs::path(std::int32_t pid, std::string_view file) const {
  std::string out = root_;
  out += '/';
  out += std::to_string(pid);
  out += '/';
  out += file;
  return out;
}

std::string ProcFs::fd_path(std::int32_t pid, std::int32_t number) const {
  return path(pid, "fd/" + std::to_string(number));
}

Result<std::vector<std::int32_t>> ProcFs::pids(BlockingToken&) const {
  DIR* directory = ::opendir(root_.c_str());
  if (directory == nullptr) return errno_error(errno, root_);
  std::vector<std::int32_t> out;
  while (const dirent* entry = ::readdir(directory)) {
    if (const auto pid = parse_pid(entry->d_name)) out.push_back(*pid);
  }
  ::closedir(directory);
  std::sort(out.begin(), out.end());
  return out;
}

Result<ProcStat> ProcFs::stat(BlockingToken&, std::int32_t pid) const {
  LGR_TRY(const std::string text, read_file(path(pid, "stat"), 4096));
  // The name may hold blanks and brackets: it ends at the last one.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return Error(ErrorCode::corrupt, path(pid, "stat") + ": no name in brackets");
  }
  ProcStat out;
  out.pid = pid;
  out.name = text.substr(open + 1, close - open - 1);
  std::size_t at = close + 1;
  bool has_start = false;
  for (int field = 3; field <= 50; ++field) {
    at = text.find_first_not_of(" \n", at);
    if (at == std::string::npos) break;
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const char* first = text.data() + at;
    const char* last = text.data() + end;
    if (field == 3) out.state = *first;
    if (field == 4 && std::from_chars(first, last, out.parent).ec != std::errc()) break;
    if (field == 22) {
      if (std::from_chars(first, last, out.start_ticks).ec != std::errc()) break;
      has_start = true;
    }
    if (field == 28 || field == 50) {  // the stack's bottom, the environment's start
      std::uint64_t address = 0;
      if (std::from_chars(first, last, address).ec != std::errc()) break;
      out.image = out.image * 31 + address;
    }
    at = end;
  }
  if (has_start) return out;
  return Error(ErrorCode::corrupt, path(pid, "stat") + ": fewer than 22 fields");
}

Result<std::string> ProcFs::read(BlockingToken&, std::int32_t pid, std::string_view file,
                                 std::size_t cap) const {
  return read_file(path(pid, file), cap);
}

Result<std::string> ProcFs::read_root(BlockingToken&, std::string_view file,
                                      std::size_t cap) const {
  return read_file(root_ + "/" + std::string(file), cap);
}

std::vector<std::string> ProcFs::list_root(BlockingToken&, std::string_view directory) const {
  std::vector<std::string> out;
  DIR* handle = ::opendir((root_ + "/" + std::string(directory)).c_str());
  if (handle == nullptr) return out;
  while (const dirent* entry = ::readdir(handle)) {
    if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  }
  ::closedir(handle);
  std::sort(out.begin(), out.end());
  return out;
}

FdInfo ProcFs::fd(BlockingToken&, std::int32_t pid, std::int32_t number) const {
  FdInfo out;
  out.number = number;
  const std::string link_path = fd_path(pid, number);
  auto link = read_link(link_path);
  if (!link) return out;
  out.link = std::move(*link);
  struct stat of_link {};
  if (::lstat(link_path.c_str(), &of_link) == 0) {
    out.readable = (of_link.st_mode & S_IRUSR) != 0;
    out.writable = (of_link.st_mode & S_IWUSR) != 0;
  }

  struct stat status {};
  if (::stat(link_path.c_str(), &status) != 0) {
    out.kind = kind_of_link(out.link);
    return out;
  }
  out.kind = kind_of(status, out.link);
  if (out.kind != FdKind::regular) return out;
  out.file = facts_of(status);
  // The path may be another mount namespace's, or replaced, or truly end in " (deleted)".
  const auto leads_here = [&](const std::string& candidate) {
    struct stat there {};
    return ::stat(candidate.c_str(), &there) == 0 && there.st_dev == status.st_dev &&
           there.st_ino == status.st_ino;
  };
  if (!leads_here(out.link)) {
    out.deleted = true;
    if (out.link.ends_with(kDeleted)) out.link.resize(out.link.size() - kDeleted.size());
  }
  return out;
}

std::vector<std::int32_t> ProcFs::fds(BlockingToken&, std::int32_t pid, std::size_t cap) const {
  std::vector<std::int32_t> out;
  DIR* directory = ::opendir(path(pid, "fd").c_str());
  if (directory == nullptr) return out;
  while (const dirent* entry = ::readdir(directory)) {
    if (out.size() >= cap) break;
    if (const auto number = parse_pid(entry->d_name)) out.push_back(*number);
  }
  ::closedir(directory);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ProcFs::Link> ProcFs::links(BlockingToken& token, std::int32_t pid,
                                        std::size_t cap) const {
  std::vector<Link> out;
  for (const std::int32_t number : fds(token, pid, cap)) {
    if (auto to = read_link(fd_path(pid, number))) out.push_back({number, std::move(*to)});
  }
  return out;
}

std::optional<std::int32_t> ProcFs::last_pid(BlockingToken&) const {
  const auto text = read_file(root_ + "/loadavg", 256);
  if (!text.ok()) return std::nullopt;
  std::string_view view = text.value();
  while (view.ends_with('\n') || view.ends_with(' ')) view.remove_suffix(1);
  const std::size_t blank = view.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return parse_pid(view.substr(blank + 1));
}

Result<BootTime> ProcFs::boot_time(BlockingToken& token) const {
  LGR_TRY(const std::string text, read_root(token, "stat", 1u << 20));
  const std::size_t at = text.find("btime ");
  if (at == std::string::npos || (at != 0 && text[at - 1] != '\n')) {
    return Error(ErrorCode::corrupt, root_ + "/stat: no btime");
  }
  std::int64_t seconds = 0;
  std::from_chars(text.data() + at + 6, text.data() + text.size(), seconds);
  BootTime out{.at = seconds * kSecond, .error = kSecond};
  if (!live_) return out;
  // btime is cut to seconds. The clocks give the rest, rounded so that the next start of the agent
  // finds the same value (it is part of a process's key). A time namespace shifts CLOCK_BOOTTIME:
  // then the two disagree and btime stays.
  constexpr UnixNanos kStep = kSecond / 100;
  const UnixNanos exact = clock_nanos(CLOCK_REALTIME) - clock_nanos(CLOCK_BOOTTIME);
  const UnixNanos rounded = (exact + kStep / 2) / kStep * kStep;
  if (std::llabs(rounded - out.at) > kSecond + kStep) return out;
  return BootTime{.at = rounded, .error = kStep};
}

std::optional<ProcFileFacts> regular_file(BlockingToken&, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return facts_of(status);
}

bool is_denied(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

}  // namespace logarithm::agent
