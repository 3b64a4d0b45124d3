#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace logarithm::agent {

// One inotify descriptor with watches on directories. It only wakes: whoever asks looks at the
// files again, and looks now and then without being woken. When the kernel refuses (ENOSPC, EMFILE)
// the directory is polled, with one warning. File thread only, but fd() may be waited on anywhere.
class DirWatcher {
 public:
  // Without `enabled` there is no descriptor and nothing is ever watched.
  explicit DirWatcher(bool enabled);
  ~DirWatcher();
  DirWatcher(const DirWatcher&) = delete;
  DirWatcher& operator=(const DirWatcher&) = delete;

  // Readable when something happened; -1 when there is none.
  int fd() const { return fd_; }
  // Watches exactly these directories from now on. False when some could not be watched.
  bool watch(const std::set<std::string>& directories);

  struct Events {
    std::vector<std::string> paths;  // "<directory>/<name>"
    bool everything = false;         // the queue overflowed: look at all
  };
  // Takes what is there; never waits.
  Events drain();

 private:
  int fd_ = -1;
  bool warned_ = false;
  std::map<std::string, int> watches_;
  std::map<int, std::set<std::string>> directories_;  // one watch may have several names
};

}  // namespace logarithm::agent
