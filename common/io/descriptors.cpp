#include "common/io/descriptors.h"

#include <sys/resource.h>

namespace logarithm {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  constexpr rlim_t kMost = 1u << 20;
  const rlim_t wanted = limit.rlim_max < kMost ? limit.rlim_max : kMost;
  if (limit.rlim_cur < wanted) {
    const rlimit raised{wanted, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit.rlim_cur = wanted;
  }
  return static_cast<std::size_t>(limit.rlim_cur < kMost ? limit.rlim_cur : kMost);
}

}  // namespace logarithm
