#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

const StreamAttributes* StreamFacts::at(std::uint64_t offset) const {
  const StreamAttributes* found = nullptr;
  for (const StreamAttributes& version : versions) {
    if (version.from <= offset && (found == nullptr || version.from >= found->from)) {
      found = &version;
    }
  }
  return found;
}

}  // namespace logarithm::aggregator
