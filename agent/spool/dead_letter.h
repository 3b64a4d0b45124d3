#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/io/file_system.h"
#include "common/wire/frame.h"

namespace logarithm::agent {

// Blocks that the aggregator will never take, for a person to look at: `dead_letter.ndjson`, one
// JSON object a line with the block as hex. Past the cap only the counter moves.
class DeadLetter {
 public:
  DeadLetter(FileSystem& files, std::string path, std::uint64_t max_bytes)
      : files_(files), path_(std::move(path)), max_bytes_(max_bytes) {}

  // Error{no_space}: the cap is reached and the block was not written.
  Status add(BlockingToken&, const wire::Refuse& refused, std::string_view block);

 private:
  FileSystem& files_;
  std::string path_;
  std::uint64_t max_bytes_;
};

}  // namespace logarithm::agent
