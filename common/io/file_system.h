#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm {

// An open file of ours (spool, state). Closed by the destructor. One thread at a time.
class File {
 public:
  virtual ~File() = default;
  // Writes all of `bytes` at the end. After an Error the file may be longer by a part of them.
  virtual Status append(BlockingToken&, std::string_view bytes) = 0;
  // At most `count` bytes from `offset`; fewer only at the end of the file.
  virtual Result<std::string> read_at(BlockingToken&, std::uint64_t offset, std::size_t count) = 0;
  // Makes the content durable (fdatasync). After an Error nobody knows what is durable.
  virtual Status sync(BlockingToken&) = 0;
  virtual Status truncate(BlockingToken&, std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size(BlockingToken&) = 0;
};

// Durable files as a seam: POSIX in production, memory and faults in tests. Paths are used as they
// are. Errors carry the path; ENOENT is not_found, ENOSPC and EDQUOT are no_space.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // For writing at the end and reading; made when absent (mode 0600).
  virtual Result<std::unique_ptr<File>> open_append(BlockingToken&, const std::string& path) = 0;
  virtual Result<std::unique_ptr<File>> open_read(BlockingToken&, const std::string& path) = 0;
  // Names (not paths) of what lies in a directory, sorted.
  virtual Result<std::vector<std::string>> list(BlockingToken&, const std::string& directory) = 0;
  // Atomic; replaces `to`. Durable only after sync_dir().
  virtual Status rename(BlockingToken&, const std::string& from, const std::string& to) = 0;
  virtual Status remove(BlockingToken&, const std::string& path) = 0;
  // Makes names in `directory` durable.
  virtual Status sync_dir(BlockingToken&, const std::string& directory) = 0;
  // What this user may still write there.
  virtual Result<std::uint64_t> free_bytes(BlockingToken&, const std::string& directory) = 0;
  // With parents (mode 0700); no error when it exists.
  virtual Status make_dir(BlockingToken&, const std::string& path) = 0;
  // Takes an exclusive lock on a file, made when absent; held while the object lives and gone with
  // the process. Error{conflict} when somebody else has it.
  virtual Result<std::unique_ptr<File>> lock(BlockingToken&, const std::string& path) = 0;
};

// Replaces `path` by `content` so that at every moment a whole version exists: temporary file,
// fsync, rename, fsync of the directory.
Status replace_file(BlockingToken&, FileSystem& files, const std::string& path,
                    std::string_view content);
// The whole file; Error{too_large} above `limit`.
Result<std::string> read_file(BlockingToken&, FileSystem& files, const std::string& path,
                              std::uint64_t limit);

}  // namespace logarithm
