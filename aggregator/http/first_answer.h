#pragma once

#include <cstddef>
#include <memory>

#include "aggregator/compare/comparison.h"
#include "aggregator/http/fold_task.h"

namespace logarithm::aggregator {

// The first divergence alone: the hashes say where, and only the lines around that are read.
// `attempt_stated`: the plan names one.
std::unique_ptr<FoldAnswer> first_answer(PeerRule rule, std::size_t limit, bool attempt_stated);

}  // namespace logarithm::aggregator
