#pragma once

#include <optional>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// What storage can exclude by its index columns for this query.
BlockFilter block_filter(const Predicate& predicate, std::optional<UnixNanos> start,
                         std::optional<UnixNanos> end, const JobView& view);

// The time range of a plan, narrowed by where the last page ended.
BlockFilter time_filter(const ScanPlan& plan);
// The same, and what its query excludes.
BlockFilter plan_filter(const ScanPlan& plan, const JobView& view);

}  // namespace logarithm::aggregator
