#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/discover/proc_fs.h"

namespace logarithm::agent {

struct DirectoryEntry {
  std::string name;
  bool directory = false;  // a real one, no link
  bool link = false;
  std::optional<ProcFileFacts> file;  // when it is, or leads to, a regular file
};

// Directory listings that are read again only when the directory's mtime says so, or after
// kMaxAge (network file systems may not tell). File thread only.
class DirectoryCache {
 public:
  // Sorted by name; nullptr when it cannot be listed. Never lists /proc and /sys file systems.
  // Valid until the next call.
  const std::vector<DirectoryEntry>* list(BlockingToken&, const std::string& path, UnixNanos now);

  // True when a directory that was listed since the last forget_unused() looks different by now.
  bool changed(BlockingToken&, UnixNanos now);
  // Drops what was not listed since the last call.
  void forget_unused();

  static constexpr UnixNanos kMaxAge = 10'000'000'000;

 private:
  struct Listing {
    std::vector<DirectoryEntry> entries;
    std::optional<UnixNanos> modified;
    UnixNanos listed_at = 0;
    bool used = false;
    bool readable = false;
  };
  static bool is_fresh(const Listing& listing, std::optional<UnixNanos> modified, UnixNanos now);

  std::map<std::string, Listing> listings_;
  UnixNanos last_check_ = 0;
};

}  // namespace logarithm::agent
