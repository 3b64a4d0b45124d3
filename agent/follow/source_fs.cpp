#include "agent/follow/source_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/model/model_json.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxNames = 100'000;

// A handle that the server or the disk took away is not the end of the file.
Error source_error(int number, std::string_view what) {
  if (number == ESTALE || number == EIO) {
    return Error(ErrorCode::unavailable, std::string(what) + ": handle lost");
  }
  if (number == EMFILE || number == ENFILE) {
    return Error(ErrorCode::no_space, std::string(what) + ": too many open files");
  }
  return errno_error(number, what);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

UnixNanos nanos(const struct statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Result<FileFacts> stat_at(int fd, const char* path, int flags) {
  struct statx raw {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(fd, path, flags, kWanted, &raw) != 0) return source_error(errno, "stat");
  if (!S_ISREG(raw.stx_mode)) return Error(ErrorCode::invalid, "not a regular file");
  FileFacts facts;
  facts.size = raw.stx_size;
  facts.inode = raw.stx_ino;
  facts.device = makedev(raw.stx_dev_major, raw.stx_dev_minor);
  facts.links = raw.stx_nlink;
  if ((raw.stx_mask & STATX_BTIME) != 0) facts.birth = nanos(raw.stx_btime);
  facts.modified = nanos(raw.stx_mtime);
  facts.changed = nanos(raw.stx_ctime);
  return facts;
}

bool is_network(const struct statfs& raw) {
  switch (static_cast<std::uint32_t>(raw.f_type)) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case 0xFE534D42:  // SMB2
    case 0xFF534D42:  // CIFS
    case CEPH_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
      return true;
    default: return false;
  }
}

// Where a file system has neither UUID nor id: what it is mounted from.
std::string mount_source(std::uint64_t device) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::string line;
  while (std::getline(mounts, line)) {
    if (line.find(" " + wanted + " ") == std::string::npos) continue;
    const auto dash = line.find(" - ");
    if (dash != std::string::npos) return line.substr(dash + 3);
  }
  return wanted;
}

class PosixSourceFile final : public SourceFile {
 public:
  explicit PosixSourceFile(int fd) : fd_(fd) {}

  Result<FileFacts> facts(BlockingToken&) override {
    return stat_at(fd_.get(), "", AT_EMPTY_PATH | AT_STATX_SYNC_AS_STAT);
  }

  Result<std::size_t> read_at(BlockingToken&, std::uint64_t offset, char* to,
                              std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got =
          ::pread(fd_.get(), to + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return source_error(errno, "read");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<std::optional<std::uint64_t>> next_data(BlockingToken&, std::uint64_t offset) override {
    const off_t found = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (found >= 0) return std::optional<std::uint64_t>(static_cast<std::uint64_t>(found));
    if (errno == ENXIO) return std::optional<std::uint64_t>();
    if (errno == EINVAL || errno == EOPNOTSUPP) return std::optional<std::uint64_t>(offset);
    return source_error(errno, "seek");
  }

  std::string current_path(BlockingToken&) override {
    char target[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(fd_.get());
    const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
    if (length <= 0 || static_cast<std::size_t>(length) == sizeof target) return {};
    std::string path(target, static_cast<std::size_t>(length));
    static constexpr std::string_view kDeleted = " (deleted)";
    return path.ends_with(kDeleted) ? std::string() : path;
  }

  Result<FileSystemId> file_system(BlockingToken&) override {
    FileSystemId out;
    struct statfs raw {};
    if (::fstatfs(fd_.get(), &raw) != 0) return source_error(errno, "statfs");
    out.network = is_network(raw);
    // FS_IOC_GETFSUUID, which Debian 12's headers do not have yet.
    struct {
      unsigned char length;
      unsigned char uuid[16];
    } answer{};
    if (::ioctl(fd_.get(), _IOR(0x15, 0, decltype(answer)), &answer) == 0 &&
        std::any_of(answer.uuid, answer.uuid + 16, [](unsigned char b) { return b != 0; })) {
      out.id = "uuid:" + to_hex({reinterpret_cast<const char*>(answer.uuid), 16});
      return out;
    }
    char id[sizeof raw.f_fsid];
    std::memcpy(id, &raw.f_fsid, sizeof id);
    if (std::any_of(id, id + sizeof id, [](char b) { return b != 0; })) {
      out.id = "fsid:" + to_hex({id, sizeof id});
      return out;
    }
    LGR_TRY(const FileFacts facts, stat_at(fd_.get(), "", AT_EMPTY_PATH));
    out.id = "mount:" + mount_source(facts.device);
    return out;
  }

 private:
  Descriptor fd_;
};

}  // namespace

Result<std::unique_ptr<SourceFile>> PosixSourceFs::open(BlockingToken&, const std::string& path) {
  // O_PATH does not open the object: a pipe keeps its readers, a device is not touched.
  Descriptor probe(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (probe.get() < 0) return source_error(errno, "open");
  // The lowest free number is given: this one tells how many are open.
  if (static_cast<std::size_t>(probe.get()) >= cap_) return source_error(EMFILE, "open");
  LGR_TRY([[maybe_unused]] const FileFacts facts, stat_at(probe.get(), "", AT_EMPTY_PATH));
  const std::string link = "/proc/self/fd/" + std::to_string(probe.get());
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  // O_NOATIME is for owners only.
  int fd = ::open(link.c_str(), kFlags | O_NOATIME);
  if (fd < 0 && errno == EPERM) fd = ::open(link.c_str(), kFlags);
  if (fd < 0) return source_error(errno, "open");
  return std::unique_ptr<SourceFile>(std::make_unique<PosixSourceFile>(fd));
}

Result<FileFacts> PosixSourceFs::stat(BlockingToken&, const std::string& path) {
  return stat_at(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT);
}

Result<std::vector<std::string>> PosixSourceFs::list(BlockingToken&, const std::string& directory) {
  DIR* dir = ::opendir(directory.c_str());
  if (dir == nullptr) return source_error(errno, "list");
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && names.size() < kMaxNames) names.emplace_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_range(BlockingToken& token, SourceFile& file, std::uint64_t from,
                               std::uint64_t to) {
  std::string bytes(static_cast<std::size_t>(to - from), '\0');
  LGR_TRY(const std::size_t got, file.read_at(token, from, bytes.data(), bytes.size()));
  if (got != bytes.size()) return Error(ErrorCode::corrupt, "the file became shorter");
  return bytes;
}

}  // namespace logarithm::agent
