#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/discover/directory_cache.h"

namespace logarithm::agent {

struct FoundFile {
  std::string path;
  bool link = false;  // the path is a symbolic link
  ProcFileFacts facts;
};

struct Walk {
  std::vector<FoundFile> files;    // regular files, in order of their paths
  std::vector<std::string> other;  // pipes, sockets and devices
  bool cut = false;                // there were more than the cap
};

inline constexpr int kMaxGlobDepth = 16;

// Files that match: '*', '?' and '[…]' within a component, "**" for any number of directories (at
// most kMaxGlobDepth; links to directories are not followed there). Wildcards do not match a
// leading dot.
Walk expand_glob(BlockingToken&, DirectoryCache&, std::string_view glob, UnixNanos now,
                 std::size_t cap);

// Everything under `root`, or `root` itself when it is a file.
Walk walk_tree(BlockingToken&, DirectoryCache&, const std::string& root, UnixNanos now,
               std::size_t cap);

// True when expand_glob() would give this path if it existed.
bool glob_matches(std::string_view glob, std::string_view path);

}  // namespace logarithm::agent
