#pragma once

#include <cstddef>

namespace logarithm {

// Raises the process's soft limit of open descriptors to the hard one and returns it. Shells and
// service managers start programs with 1024, which a node with many logs exceeds.
std::size_t raise_descriptor_limit();

// How many of `limit` may be open before those who open files in any number stop: the rest is for
// the spool, sockets and what else must never be without.
constexpr std::size_t descriptors_for_files(std::size_t limit) {
  return limit - (limit / 2 < 64 ? limit / 2 : 64);
}

}  // namespace logarithm
