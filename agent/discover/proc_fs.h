#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/base/types.h"

namespace logarithm::agent {

// What /proc/PID/stat says, as far as it is needed.
struct ProcStat {
  std::int32_t pid = 0;
  std::int32_t parent = 0;
  char state = '?';
  std::uint64_t start_ticks = 0;  // since boot, 1/sysconf(_SC_CLK_TCK) s
  std::string name;               // at most 15 bytes
  // Where stack and environment lie: moves with every exec. 0 when we may not know.
  std::uint64_t image = 0;
};

enum class FdKind { regular, pipe, socket, tty, null_device, device, directory, other, closed };

// "regular", "pipe", "socket", "tty", "null", "device", "directory", "other", "closed".
std::string_view to_string(FdKind kind);

// Identity and times of a file, by stat.
struct ProcFileFacts {
  std::uint64_t device = 0, inode = 0, size = 0;
  UnixNanos modified = 0;
};

// What a process's file descriptor leads to. It was never opened to find that out.
struct FdInfo {
  std::int32_t number = -1;
  FdKind kind = FdKind::closed;
  std::string link;      // path without " (deleted)", or "pipe:[123]" and the like
  bool deleted = false;  // the path does not lead to this file any more
  bool readable = false, writable = false;  // how it was opened
  ProcFileFacts file;                       // for regular files
};

// The boot time in wall-clock time, and how wrong it can be.
struct BootTime {
  UnixNanos at = 0;
  UnixNanos error = 0;
};

// /proc behind an injectable root: the only place of `discover` that reads it. Stateless but for
// the root, so it may be used from any worker thread. A file that vanishes is Error{not_found}.
//
// Descriptors of other processes are only looked at with readlink and stat: opening the link of a
// pipe would steal the job's bytes.
class ProcFs {
 public:
  explicit ProcFs(std::string root);

  const std::string& root() const { return root_; }
  // True when the root is this machine's procfs in our own pid namespace: only then do pids mean
  // anything to system calls (pidfd_open).
  bool is_live() const { return live_; }

  // Ascending.
  Result<std::vector<std::int32_t>> pids(BlockingToken&) const;
  Result<ProcStat> stat(BlockingToken&, std::int32_t pid) const;
  // "environ", "cmdline", "cgroup", "status": at most `cap` bytes of it.
  Result<std::string> read(BlockingToken&, std::int32_t pid, std::string_view file,
                           std::size_t cap) const;
  // A file directly under the root, e.g. "stat".
  Result<std::string> read_root(BlockingToken&, std::string_view file, std::size_t cap) const;
  // Names in a directory under the root; empty when it is not there.
  std::vector<std::string> list_root(BlockingToken&, std::string_view directory) const;

  FdInfo fd(BlockingToken&, std::int32_t pid, std::int32_t number) const;
  // Numbers of the open descriptors, ascending, at most `cap` of them.
  std::vector<std::int32_t> fds(BlockingToken&, std::int32_t pid, std::size_t cap) const;
  // The same with what they lead to, and without a look at it.
  struct Link {
    std::int32_t number = -1;
    std::string to;
  };
  std::vector<Link> links(BlockingToken&, std::int32_t pid, std::size_t cap) const;
  // <root>/PID/fd/N: opens the very file, deleted or not.
  std::string fd_path(std::int32_t pid, std::int32_t number) const;

  // The newest pid of the system (last field of loadavg): it moves whenever a process or a thread
  // is made.
  std::optional<std::int32_t> last_pid(BlockingToken&) const;
  Result<BootTime> boot_time(BlockingToken&) const;

 private:
  std::string path(std::int32_t pid, std::string_view file) const;

  std::string root_;
  bool live_ = false;
};

// stat(2) that follows links; nullopt unless it is a regular file.
std::optional<ProcFileFacts> regular_file(BlockingToken&, const std::string& path);

// The file is there, and may not be read by us.
bool is_denied(const std::string& path);

}  // namespace logarithm::agent
