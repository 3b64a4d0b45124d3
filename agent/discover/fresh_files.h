#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "agent/discover/file_registry.h"

namespace logarithm::agent {

// Files that the configuration names, were empty when they were found, and wait for the scan that
// sees their process. They are held open meanwhile: what is written and unlinked before that is
// read all the same. File thread only.
class FreshFiles {
 public:
  // Files held at once; those beyond it are not waited for.
  static constexpr std::size_t kMost = 256;

  FreshFiles() = default;
  ~FreshFiles();
  FreshFiles(const FreshFiles&) = delete;
  FreshFiles& operator=(const FreshFiles&) = delete;

  // A walk over what is configured begins, and finds `file` empty and new. False when it cannot be
  // held: then it must not wait.
  void begin();
  bool hold(BlockingToken&, const FileRegistry::Configured& file);
  // The walk is over. Gives the files whose names are gone and that have content by now;
  // `open_path` leads to them, until the second walk after this one.
  std::vector<FileRegistry::Configured> vanished(BlockingToken&);

 private:
  struct Held {
    FileRegistry::Configured file;
    int fd = -1;
    bool found = false;          // by this walk
    bool given = false;          // by vanished()
    unsigned walks_missing = 0;  // since it was found, or given
  };
  // An empty file without a name is held for so many walks: a writer may still have it open.
  static constexpr unsigned kPatience = 20, kAfterGiven = 2;

  std::map<FileId, Held> held_;
};

}  // namespace logarithm::agent
