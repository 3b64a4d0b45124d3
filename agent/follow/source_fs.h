#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/base/types.h"

namespace logarithm::agent {

// What the kernel says about one file. Times are nanoseconds since 1970.
struct FileFacts {
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint64_t links = 0;
  UnixNanos birth = 0;  // 0 where the file system does not know it
  UnixNanos modified = 0;
  UnixNanos changed = 0;
  bool operator==(const FileFacts&) const = default;
};

// Names a file system across restarts; `network` where other hosts see the same files.
struct FileSystemId {
  std::string id;
  bool network = false;
};

// One open file that is followed. Error{unavailable} is a lost handle (ESTALE, EIO): close it and
// open the path again later. File thread only.
class SourceFile {
 public:
  virtual ~SourceFile() = default;
  virtual Result<FileFacts> facts(BlockingToken&) = 0;
  // Reads up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::size_t> read_at(BlockingToken&, std::uint64_t offset, char* to,
                                      std::size_t size) = 0;
  // The first byte at or after `offset` that is not in a hole; nullopt when there is only a hole.
  // File systems without holes say `offset`.
  virtual Result<std::optional<std::uint64_t>> next_data(BlockingToken&, std::uint64_t offset) = 0;
  // The path under which the file lies now; empty once it was removed.
  virtual std::string current_path(BlockingToken&) = 0;
  virtual Result<FileSystemId> file_system(BlockingToken&) = 0;
};

// The file system as `follow` sees it: the seam for tests. File thread only.
class SourceFs {
 public:
  virtual ~SourceFs() = default;
  // Opens a regular file for reading; Error{invalid} for anything else (a pipe is never opened:
  // that would steal the job's bytes). Never waits for a writer, never changes the access time.
  virtual Result<std::unique_ptr<SourceFile>> open(BlockingToken&, const std::string& path) = 0;
  // Follows symbolic links. Error{not_found} when there is no such file.
  virtual Result<FileFacts> stat(BlockingToken&, const std::string& path) = 0;
  // Names in a directory, sorted, at most 100,000.
  virtual Result<std::vector<std::string>> list(BlockingToken&, const std::string& directory) = 0;
};

// Reads exactly the bytes [from, to); Error{corrupt} when the file is shorter.
Result<std::string> read_range(BlockingToken& token, SourceFile& file, std::uint64_t from,
                               std::uint64_t to);

class PosixSourceFs final : public SourceFs {
 public:
  // Descriptors from this number on are left to others: opening answers Error{no_space}.
  void set_descriptor_cap(std::size_t cap) { cap_ = cap; }

  Result<std::unique_ptr<SourceFile>> open(BlockingToken&, const std::string& path) override;
  Result<FileFacts> stat(BlockingToken&, const std::string& path) override;
  Result<std::vector<std::string>> list(BlockingToken&, const std::string& directory) override;

 private:
  std::size_t cap_ = SIZE_MAX;
};

}  // namespace logarithm::agent
