#pragma once

#include "common/io/file_system.h"

namespace logarithm {

// The real file system. Thread-safe.
class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open_append(BlockingToken&, const std::string& path) override;
  Result<std::unique_ptr<File>> open_read(BlockingToken&, const std::string& path) override;
  Result<std::vector<std::string>> list(BlockingToken&, const std::string& directory) override;
  Status rename(BlockingToken&, const std::string& from, const std::string& to) override;
  Status remove(BlockingToken&, const std::string& path) override;
  Status sync_dir(BlockingToken&, const std::string& directory) override;
  Result<std::uint64_t> free_bytes(BlockingToken&, const std::string& directory) override;
  Status make_dir(BlockingToken&, const std::string& path) override;
  Result<std::unique_ptr<File>> lock(BlockingToken&, const std::string& path) override;
};

}  // namespace logarithm
