#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "aggregator/http/fold_task.h"

namespace logarithm::aggregator {

struct PairLimits {
  std::size_t rows = 0;
  std::size_t context = 0;  // rows that are the same around a difference
};

// Two ranks of one attempt side by side. `attempt_stated`: the plan names one.
std::unique_ptr<FoldAnswer> pair_answer(std::array<std::int32_t, 2> ranks, PairLimits limits,
                                        bool attempt_stated);

}  // namespace logarithm::aggregator
