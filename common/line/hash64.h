#pragma once

#include <cstdint>
#include <string_view>

namespace logarithm {

// XXH64 with seed 0, written out because template fingerprints are part of stored formats.
std::uint64_t hash64(std::string_view bytes);

}  // namespace logarithm
