#pragma once

#include <optional>
#include <string>

#include "agent/ports/follow_target.h"

namespace logarithm::agent {

// What `logarithm run` of this user keeps: `files:` for all of it, so that a run is complete also
// when it was over before anybody looked, or while no agent was there. Only of this user: an agent
// that may read everything must not be shown to files by others.
// nullopt when neither directory is known.
std::optional<FilePattern> run_files(const std::string& xdg_state_home, const std::string& home);

}  // namespace logarithm::agent
