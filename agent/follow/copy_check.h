#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/follow/prefix_digest.h"
#include "agent/follow/source_fs.h"

namespace logarithm::agent {

// Is this file a copy of the bytes that were read of another? Compares head, then the 256 bytes
// before the end of what was read, then the running hash of everything up to the copy's length or
// our offset. Bounded work per step. File thread only.
class CopyCheck {
 public:
  enum class Verdict { undecided, copy, different };

  // `digest` and `ladder` describe the original's bytes as read; `head` its first bytes.
  CopyCheck(std::string path, StreamBase base, std::unique_ptr<SourceFile> file, FileFacts facts,
            const std::string& head, const PrefixDigest& digest, const HashLadder& ladder);

  // Reads at most `max` bytes. An unreadable file is `different`.
  Verdict step(BlockingToken& token, std::size_t max, std::vector<char>& buffer);

  const std::string& path() const { return path_; }
  const StreamBase& base() const { return base_; }
  const FileFacts& facts() const { return facts_; }
  SourceFile& file() { return *file_; }

 private:
  bool quick_look(BlockingToken& token);

  std::string path_;
  StreamBase base_;
  std::unique_ptr<SourceFile> file_;
  FileFacts facts_;
  std::string head_, tail_;
  std::uint64_t read_;        // what was read of the original
  bool known_;                // its running hash is known
  std::uint64_t until_ = 0;   // compare the hash of [0, until_) …
  std::uint64_t wanted_ = 0;  // … with this
  bool looked_ = false;
  PrefixDigest digest_;
};

}  // namespace logarithm::agent
