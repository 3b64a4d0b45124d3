#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "aggregator/store/storage.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// Nodes [first, last] of a level of one rank's hash tree, ascending: see store/iteration_hash.h.
using HashNodes = std::function<Result<std::vector<IterationNode>>(
    std::size_t rank, unsigned level, std::int64_t first, std::int64_t last)>;

struct HashDivergence {
  std::int64_t iteration = 0;
  std::size_t rank = 0;
};

// The first iteration at or after `from` in which a rank's templates differ from most of its
// peers', by hashes alone: no line is read, and of the tree only the way down. Peers are ranks that
// agree in at least half of a sample of iterations. A rank that is alone, and what comes after a
// rank's last iteration, is not judged. Templates, not groups: the answer is a place to look at.
Result<std::optional<HashDivergence>> first_hash_divergence(std::size_t ranks,
                                                            const HashNodes& nodes,
                                                            std::int64_t from);

}  // namespace logarithm::aggregator
