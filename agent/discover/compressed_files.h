#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/discover/proc_fs.h"

namespace logarithm::agent {

// True for the first bytes of gzip, zstd, xz and bzip2 data.
bool has_compressed_magic(std::string_view head);

// Remembers which files were found to be compressed. File thread only.
class CompressedFiles {
 public:
  // Reads the file's first bytes when it is not known yet. False where it cannot be read.
  bool check(BlockingToken&, const std::string& path, const ProcFileFacts& facts);

 private:
  std::map<std::string, std::pair<std::uint64_t, bool>> known_;  // path -> inode, verdict
};

}  // namespace logarithm::agent
