#include "aggregator/http/plan_params.h"

#include "aggregator/http/problem.h"
#include "aggregator/query/cursor.h"
#include "aggregator/query/filters.h"

namespace logarithm::aggregator {

std::optional<net::Response> read_direction(const net::Request& request, Direction fallback,
                                            ScanPlan& plan) {
  const auto direction = request.param("direction");
  plan.direction = fallback;
  if (!direction) return std::nullopt;
  if (direction != "forward" && direction != "backward") {
    return problem(400, "direction is forward or backward", std::nullopt, "direction");
  }
  plan.direction = direction == "forward" ? Direction::forward : Direction::backward;
  return std::nullopt;
}

std::optional<net::Response> read_cursor(const net::Request& request, std::uint64_t query_hash,
                                         ScanPlan& plan) {
  const auto text = request.param("cursor");
  if (!text) return std::nullopt;
  auto cursor = parse_cursor(*text);
  const bool fits = cursor.ok() && cursor->query_hash == query_hash &&
                    (!request.param("direction") || cursor->direction == plan.direction);
  if (!fits) {
    return problem(400, "the cursor is damaged or belongs to another query", std::nullopt,
                   "cursor");
  }
  plan.direction = cursor->direction;
  plan.after = cursor->after;
  plan.start = cursor->start;
  plan.end = cursor->end;
  return std::nullopt;
}

}  // namespace logarithm::aggregator
