#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/async/blocking.h"

namespace logarithm::agent {

// How the command of a `logarithm run` ended, as that left it in its directory; as waitpid gives
// it. nullopt where it has not ended, or the directory is not seen from here (a container's).
std::optional<std::int32_t> run_status(BlockingToken&, const std::string& directory);

}  // namespace logarithm::agent
