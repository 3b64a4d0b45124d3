#pragma once

#include <cstddef>
#include <memory>

#include "aggregator/compare/comparison.h"
#include "aggregator/http/fold_task.h"

namespace logarithm::aggregator {

// All ranks of one attempt against their peers; of departures the `limit` most unusual.
// `attempt_stated`: the plan names one.
std::unique_ptr<FoldAnswer> ranks_answer(PeerRule rule, std::size_t limit, bool attempt_stated);

}  // namespace logarithm::aggregator
