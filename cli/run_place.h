#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/base/types.h"

namespace logarithm::cli {

// Where `run` puts what a command writes:
//
//   <base>/<job>/[attempt-<N>/]<time>-<pid>/{stdout,stderr}.log
//
// An agent of the same user follows all of <base>; any agent follows what a process writes.
struct RunPlace {
  std::string directory;
  std::optional<std::int32_t> attempt;
  std::string file(const char* stream) const { return directory + "/" + stream + ".log"; }
};

struct RunPlaceRequest {
  std::string base, job;
  bool count_attempts = false;  // takes the next number of this job
  UnixNanos now = 0;
  std::int32_t pid = 0;
};

// Makes the directory. Error{invalid} for a job whose name cannot be a path.
Result<RunPlace> make_place(const RunPlaceRequest& request);

// Leaves beside the files how the command ended (`status` as waitpid gives it), for agents: nobody
// but us knows. Without a word where that cannot be written.
void note_status(const RunPlace& place, int status);

// "$XDG_STATE_HOME/logarithm/run", or below `home`; empty when neither is known.
std::string default_base(const std::string& xdg_state_home, const std::string& home);

// Removes runs below `base` that ended (nobody holds their files open) and have been quiet for
// `keep`; at most `most` of them, so that no start waits for long.
void remove_old_runs(const std::string& base, UnixNanos now, std::chrono::nanoseconds keep,
                     std::size_t most);

}  // namespace logarithm::cli
