#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/async/blocking.h"

namespace logarithm::agent {

// Inotify descriptors with watches on directories: for the first write after a quiet time, for
// names that go, and for new names, which are rare and wake at once. They only hint: whoever asks
// looks at the files again, and looks now and then without being woken.
//
// An event costs the writer as much as a short write does, also one that is merged with the one
// before, and also while we are stopped. So a directory tells one write: it is awake then, its
// files are to be looked at, and tells nothing more until arm(). The other watches cost a write
// nothing.
//
// When the kernel refuses (ENOSPC, EMFILE) the directory is polled, with one warning. File thread
// only, but wake_fd() may be waited on anywhere.
class DirWatcher {
 public:
  // Without `enabled` there is no descriptor and nothing is ever watched.
  explicit DirWatcher(bool enabled);
  ~DirWatcher();
  DirWatcher(const DirWatcher&) = delete;
  DirWatcher& operator=(const DirWatcher&) = delete;

  // Readable when a name was created; -1 when there is none.
  int wake_fd() const { return names_.fd; }
  // Watches exactly these directories from now on. False when some could not be watched.
  bool watch(const std::set<std::string>& directories);

  // A write was told, and none will be before arm().
  bool is_awake(const std::string& directory) const { return awake_.contains(directory); }
  bool any_awake() const { return !awake_.empty(); }
  // The next write is told again: look at the directory's files after this.
  void arm(const std::string& directory);

  struct Events {
    std::vector<std::string> paths;    // "<directory>/<name>": first written, renamed, removed
    std::vector<std::string> created;  // new files
    bool everything = false;           // events were lost: look at all
  };
  // Takes what is there; never waits.
  Events drain();
  // Waits for a write, at most this long. Without a descriptor it returns at once.
  void wait_for_write(BlockingToken& token, std::chrono::milliseconds longest);

 private:
  struct Queue {
    int fd = -1;
    std::map<std::string, int> watches;
    std::map<int, std::set<std::string>> directories;  // one watch may have several names
  };
  bool watch(Queue& queue, const std::set<std::string>& directories, std::uint32_t mask);
  static bool drain(Queue& queue, std::vector<std::string>& paths);

  Queue writes_, fates_, names_;
  std::set<std::string> awake_;
  bool warned_ = false;
};

}  // namespace logarithm::agent
