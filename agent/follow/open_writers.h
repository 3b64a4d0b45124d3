#pragma once

#include <dirent.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/clock.h"

namespace logarithm::agent {

// Does any process hold a file open for writing? A file that was removed or renamed away is given
// up when it is quiet, and a writer of which discovery knows nothing may only be quiet.
//
// Looks through <proc>/PID/fd in rounds, some descriptors a step; only while somebody asks.
// Processes into which we may not look (no CAP_SYS_PTRACE) count as not holding it. File thread
// only.
class OpenWriters {
 public:
  enum class Answer { unknown, held, free };

  explicit OpenWriters(std::string proc_root) : proc_root_(std::move(proc_root)) {}

  // Never waits: the answer is of a round that began after the first question, and comes with a
  // later one. A file that is held is looked for again after kAgain.
  Answer ask(std::uint64_t device, std::uint64_t inode, MonotonicTime now);
  // Goes on with the round, or begins one where something was asked; true when there is more to do,
  // or to be learned by asking again.
  bool step(BlockingToken&, MonotonicTime now);

  static constexpr std::chrono::seconds kAgain{60};
  static constexpr int kDescriptors = 2000;  // of a step: some 5 ms

 private:
  using File = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  struct Question {
    Answer answer = Answer::unknown;
    bool in_round = false, found = false;
    MonotonicTime asked, answered;
  };
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  using Directory = std::unique_ptr<DIR, Close>;

  bool wants_round(MonotonicTime now);
  void begin(MonotonicTime now);
  void end(MonotonicTime now);
  void look(int directory, const char* name);

  std::string proc_root_;
  std::map<File, Question> questions_;
  bool under_way_ = false;
  std::vector<std::string> processes_;  // still to be looked into
  Directory descriptors_;               // of the one that is being looked into
};

}  // namespace logarithm::agent
