#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/io/file_system.h"

namespace logarithm::agent {

// `state.json`: what belongs to the state directory as a whole.
struct StateFile {
  UnixNanos created_at = 0;  // files born later need not wait for the aggregator's answer
};

struct LoadedState {
  StateFile state;
  bool made_now = false;  // there was none, or it was unreadable (then set aside as *.bad)
};

Result<LoadedState> load_state(BlockingToken&, FileSystem& files, const std::string& directory,
                               const Clock& clock);
// Atomic and durable.
Status save_state(BlockingToken&, FileSystem& files, const std::string& directory,
                  const StateFile& state);

}  // namespace logarithm::agent
