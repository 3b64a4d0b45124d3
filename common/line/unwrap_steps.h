#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/line/unwrap.h"

namespace logarithm {

// How unwrap() is called for a line; see Unwrapper.
struct UnwrapMode {
  unsigned layers = 0;
  WeakWrapper accepted = WeakWrapper::none;
  bool label = false;
};

// One wrapper that unwrap() found: who read it, and where.
struct UnwrapStep {
  bool (*read)(std::string_view, wrappers::Layer&) = nullptr;
  std::uint16_t begin = 0, size = 0;
  bool same_rank = false;  // it is one only because it says the rank that is known
};

// unwrap(), and what it did. False where the hosts of the stream decided: then it has to run again
// in every line.
bool trace_unwrap(std::string_view text, const UnwrapMode& mode, KnownHosts& hosts, Wrapped& out,
                  std::vector<UnwrapStep>& steps);
// unwrap() of a text of the same shape, in which nobody else finds a wrapper. False when a step
// finds none, or another one.
bool repeat_unwrap(std::string_view text, const std::vector<UnwrapStep>& steps, Wrapped& out);

}  // namespace logarithm
