#include "common/model/stream.h"

#include <algorithm>

namespace logarithm {

std::string iteration_axis(const StreamAttributes& attributes) {
  if (!attributes.process.empty() || !attributes.rank) return attributes.process;
  std::string out = "path " + attributes.host + " ";
  if (attributes.attempt) out += std::to_string(*attributes.attempt);
  return out + " " + std::to_string(*attributes.rank);
}

bool fits_head(std::string_view bytes, std::string_view head) {
  const std::size_t common = std::min(bytes.size(), head.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (bytes[i] != head[i] && head[i] != kHeadMask) return false;
  }
  return true;
}

}  // namespace logarithm
