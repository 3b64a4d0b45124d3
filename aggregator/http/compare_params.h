#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "aggregator/compare/comparison.h"
#include "aggregator/http/against_task.h"
#include "aggregator/http/named.h"
#include "aggregator/http/router.h"
#include "aggregator/query/block_rows.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// What a request for a comparison asks for.
struct CompareParams {
  ScanPlan plan;
  Named named;           // by the filters
  bool against = false;  // another run
  bool attempt_stated = false;
  bool first = false;                               // the first divergence alone
  std::optional<std::array<std::int32_t, 2>> pair;  // two ranks, in their order
  PeerRule peers;
  std::size_t limit = 0;    // rows of two ranks, else departures
  std::size_t context = 0;  // rows around a difference
};

inline constexpr std::uint64_t kMaxDepartures = 1000;

// Fills `out`, or says why not. Of two runs each has its own attempt, which is no filter.
std::optional<net::Response> read_compare(const net::Request& request, UnixNanos now,
                                          CompareParams& out);

// This run and the one it is compared with. With an attempt of the same job, `attempt` is one
// number.
Result<std::array<AgainstTask::Side, 2>> read_sides(const Call& call, const CompareParams& params);

}  // namespace logarithm::aggregator
