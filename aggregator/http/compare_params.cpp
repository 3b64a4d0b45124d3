#include "aggregator/http/compare_params.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/http/one_attempt.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/query/filters.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultDepartures = 100;
constexpr std::uint64_t kDefaultRows = 1000, kMaxRows = 10'000, kDefaultContext = 2;

// "0-7;8-15": classes of ranks, one a part.
Result<PeerRule> parse_peers(std::string_view text) {
  PeerRule rule;
  if (text == "auto" || text.empty()) return rule;
  rule.kind = PeerRule::Kind::all;
  if (text == "all") return rule;
  rule.kind = PeerRule::Kind::host;
  if (text == "host") return rule;
  rule.kind = PeerRule::Kind::local_rank;
  if (text == "local_rank") return rule;
  rule.kind = PeerRule::Kind::given;
  constexpr std::int64_t kMostRanks = 1'000'000;
  while (!text.empty()) {
    const std::size_t cut = std::min(text.find(';'), text.size());
    std::size_t position = 0;
    auto intervals = parse_intervals(text.substr(0, cut), position);
    if (!intervals.ok()) {
      return Error(ErrorCode::invalid,
                   "peers is auto, all, host, local_rank, or ranks like 0-7;8-15");
    }
    std::set<std::int32_t> ranks;
    for (const Interval& interval : *intervals) {
      if (interval.min < 0 || interval.max > kMostRanks) {
        return Error(ErrorCode::invalid, "peers: ranks are from 0 to 1000000");
      }
      for (std::int64_t rank = interval.min; rank <= interval.max; ++rank) {
        ranks.insert(static_cast<std::int32_t>(rank));
      }
    }
    rule.given.push_back(std::move(ranks));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  return rule;
}

// The two ranks of "0,3", in their order; nullopt for any other set.
std::optional<std::array<std::int32_t, 2>> two_ranks(const std::vector<Interval>& intervals) {
  std::vector<std::int64_t> ranks;
  for (const Interval& interval : intervals) {
    if (interval.min < INT32_MIN || interval.max > INT32_MAX) return std::nullopt;
    if (interval.max - interval.min > 1) return std::nullopt;
    for (std::int64_t rank = interval.min; rank <= interval.max; ++rank) ranks.push_back(rank);
  }
  if (ranks.size() != 2 || ranks[0] == ranks[1]) return std::nullopt;
  return std::array<std::int32_t, 2>{static_cast<std::int32_t>(ranks[0]),
                                     static_cast<std::int32_t>(ranks[1])};
}

// An attempt that a request names by one number.
Result<std::optional<std::int32_t>> one_attempt(const net::Request& request,
                                                std::string_view name) {
  if (!request.param(name)) return std::optional<std::int32_t>();
  LGR_TRY(std::uint64_t number, number_param(request, name, 0, 0, INT32_MAX));
  return std::optional<std::int32_t>(static_cast<std::int32_t>(number));
}

// What the kind of comparison that is asked for would pass over; else nullopt.
std::optional<net::Response> refuse_unused(const net::Request& request,
                                           const CompareParams& asked) {
  const bool against = asked.against, pair = asked.pair.has_value(), first = asked.first;
  const auto refuse = [](const char* name, const char* why) {
    return problem(400, std::string(name) + ": " + why, std::nullopt, name);
  };
  if (against && first) return refuse("first", "is asked of one run, not of two");
  if (request.param("peers") && against) {
    return refuse("peers", "each rank is compared with itself in the other run");
  }
  if (request.param("peers") && pair && !first) {
    return refuse("peers", "the two ranks are compared with each other");
  }
  if (request.param("context") && (against || first || !pair)) {
    return refuse("context", "goes with two ranks side by side");
  }
  return std::nullopt;
}

}  // namespace

std::optional<net::Response> read_compare(const net::Request& request, UnixNanos now,
                                          CompareParams& out) {
  out.against = request.param("against_attempt") || request.param("against_job");
  out.attempt_stated = request.param("attempt").has_value();
  net::Request filters = request;
  if (out.against) {
    std::erase_if(filters.query, [](const auto& param) { return param.first == "attempt"; });
  }
  if (auto refused = read_filters(filters, now, out.plan)) return refused;
  out.named = named_in(filters);
  if (const auto ranks = request.param("ranks"); ranks && *ranks != "all") {
    std::size_t position = 0;
    auto intervals = parse_intervals(*ranks, position);
    if (!intervals.ok()) return problem(400, intervals.error().message(), position, "ranks");
    out.pair = two_ranks(*intervals);
    narrow_to(out.plan, "rank", std::move(*intervals));
  }
  auto rule = parse_peers(request.param("peers").value_or(""));
  if (!rule.ok()) return problem(400, rule.error().message(), std::nullopt, "peers");
  out.peers = std::move(*rule);
  auto context = number_param(request, "context", kDefaultContext, 0, kMaxRows);
  if (!context.ok()) return problem(400, context.error().message(), std::nullopt, "context");
  out.context = *context;
  auto limit = out.pair ? number_param(request, "limit", kDefaultRows, 1, kMaxRows)
                        : number_param(request, "limit", kDefaultDepartures, 1, kMaxDepartures);
  if (!limit.ok()) return problem(400, limit.error().message(), std::nullopt, "limit");
  out.limit = *limit;
  auto first = bool_param(request, "first", false);
  if (!first.ok()) return problem(400, first.error().message(), std::nullopt, "first");
  out.first = *first;
  return refuse_unused(request, out);
}

Result<std::array<AgainstTask::Side, 2>> read_sides(const Call& call, const CompareParams& params) {
  std::array<AgainstTask::Side, 2> sides;
  sides[0].job = sides[1].job = JobKey{call.tenant, call.capture};
  LGR_TRY(sides[0].attempt, one_attempt(call.request, "attempt"));
  LGR_TRY(sides[1].attempt, one_attempt(call.request, "against_attempt"));
  if (const auto other = call.request.param("against_job")) sides[1].job.job = *other;
  // The filters hold for both; the attempt is each side's own.
  for (AgainstTask::Side& side : sides) {
    side.plan = params.plan;
    side.named = params.named;
  }
  return sides;
}

}  // namespace logarithm::aggregator
