#include "aggregator/triage/gathered_ranks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace logarithm::aggregator::triage {
namespace {

// Ranks whose iterations from the beginning on tell how long the longest took.
constexpr std::size_t kHistories = 8;

std::string clock_name(const RankFacts& rank) {
  return rank.host.empty() ? std::to_string(rank.rank) : "host " + rank.host;
}

// In the order of iterations, each once (it may be logged on two outputs of the rank; the line with
// a stamp counts), and since when it has been NaN.
void settle(Metric& metric) {
  auto& samples = metric.samples;
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return a.iteration != b.iteration ? a.iteration < b.iteration : a.stamped > b.stamped;
  });
  const auto twice = [](const Sample& a, const Sample& b) { return a.iteration == b.iteration; };
  samples.erase(std::unique(samples.begin(), samples.end(), twice), samples.end());
  auto since = samples.end();
  while (since != samples.begin() && std::isnan(std::prev(since)->value)) --since;
  // NaN since before the oldest sample that is kept.
  if (since == samples.begin() && metric.first_nan) return;
  metric.first_nan.reset();
  if (since != samples.end()) metric.first_nan = *since;
}

// Between two iterations that were said, with or without a time.
std::int64_t usual_gap(const std::map<std::int64_t, RankSurvey::Start>& iterations) {
  std::vector<std::int64_t> gaps;
  for (auto at = iterations.begin(); at != iterations.end(); ++at) {
    if (at != iterations.begin()) gaps.push_back(at->first - std::prev(at)->first);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

// Of every stream its newest lines; all together in the order of time.
void settle_tail(std::vector<TailLine>& tail) {
  std::map<StreamId, std::size_t> left;
  std::stable_sort(tail.begin(), tail.end(), [](const TailLine& a, const TailLine& b) {
    return std::pair(a.line.stream, a.line.offset) > std::pair(b.line.stream, b.line.offset);
  });
  std::erase_if(tail, [&](const TailLine& line) { return ++left[line.line.stream] > kTailLines; });
  std::sort(tail.begin(), tail.end(), [](const TailLine& a, const TailLine& b) {
    return std::tie(a.time, a.line) < std::tie(b.time, b.line);
  });
}

}  // namespace

GatheredRanks::Gathered& GatheredRanks::at(std::int32_t rank) {
  const auto [found, fresh] = ranks_.try_emplace(rank);
  if (fresh) {
    found->second.facts.rank = rank;
    found->second.facts.resolution = 1'000'000'000;
  }
  return found->second;
}

void GatheredRanks::add(std::int32_t rank_number, const StreamJoin& join,
                        const RankSurvey& survey) {
  Gathered& gathered = at(rank_number);
  RankFacts& rank = gathered.facts;
  if (rank.host.empty()) rank.host = join.attributes->host;
  if (!rank.local_rank) rank.local_rank = join.attributes->local_rank;
  if (rank.lines == 0) {
    rank.first_time = survey.first;
    rank.last_time = survey.last;
  }
  rank.first_time = std::min(rank.first_time, survey.first);
  rank.last_time = std::max(rank.last_time, survey.last);
  rank.lines += survey.lines;
  gathered.seen += survey.seen;
  if (survey.seen < survey.lines && !gathered.left_out) {
    gathered.left_out = iteration_axis(*join.attributes);
  }
  gathered.stamped += survey.stamped;
  gathered.ahead = std::max(gathered.ahead, survey.ahead);
  if (survey.stamped > 0) rank.resolution = std::min(rank.resolution, survey.resolution);
  rank.tail.insert(rank.tail.end(), survey.tail.begin(), survey.tail.end());
  for (const auto& [iteration, start] : survey.iterations) {
    const auto [known, fresh] = gathered.iterations.emplace(iteration, start);
    if (fresh) continue;
    // A stamp says more than the time at which a line without one was read.
    const bool better =
        start.stamped != known->second.stamped ? start.stamped : start.time < known->second.time;
    if (better) known->second = start;
  }
  for (const auto& [id, starts] : survey.arrivals) add_arrivals(rank.arrivals[id], starts);
  for (const auto& [key, metric] : survey.metrics) add_metric(rank.metrics[key], metric);
}

void GatheredRanks::settle_hosts(const std::map<std::int32_t, std::string>& named) {
  for (auto& [number, gathered] : ranks_) {
    const auto host = named.find(number);
    if (gathered.facts.host.empty() && host != named.end()) gathered.facts.host = host->second;
    if (gathered.ahead <= 0) continue;
    std::int64_t& most = ahead_[clock_name(gathered.facts)];
    most = std::max(most, gathered.ahead);
  }
}

Status GatheredRanks::add_history(BlockingToken& token, JobView& view) {
  std::size_t histories = 0;
  for (auto& [number, gathered] : ranks_) {
    if (!gathered.left_out || gathered.left_out->empty()) continue;
    if (histories == kHistories) break;
    ++histories;
    auto& iterations = gathered.iterations;
    const bool stamped = std::any_of(iterations.begin(), iterations.end(),
                                     [](const auto& entry) { return entry.second.stamped; });
    LGR_TRY(const auto starts, view.snapshot().iterations(token, *gathered.left_out));
    for (const IterationStart& start : starts) {
      // Of one that was looked at in part the beginning may lie before that.
      const auto [known, fresh] = iterations.try_emplace(start.iteration);
      if (fresh) known->second = {start.time, stamped};
      known->second.time = std::min(known->second.time, start.time);
    }
  }
  return {};
}

std::set<std::string> GatheredRanks::hosts() const {
  std::set<std::string> out;
  for (const auto& [number, gathered] : ranks_) out.insert(gathered.facts.host);
  out.erase("");
  return out;
}

std::optional<std::int64_t> GatheredRanks::ahead(std::int32_t rank) const {
  const auto gathered = ranks_.find(rank);
  if (gathered == ranks_.end()) return std::nullopt;
  const auto found = ahead_.find(clock_name(gathered->second.facts));
  return found == ahead_.end() ? std::nullopt : std::optional(found->second);
}

void GatheredRanks::complete(Gathered& gathered) {
  RankFacts& rank = gathered.facts;
  settle_tail(rank.tail);
  const auto& iterations = gathered.iterations;
  const auto said = std::count_if(iterations.begin(), iterations.end(),
                                  [](const auto& entry) { return entry.second.stamped; });
  rank.stamped = iterations.empty() ? 2 * gathered.stamped > gathered.seen : said > 0;
  for (const auto& [iteration, start] : iterations) {
    // When a line without a stamp was said nobody knows; clocks are compared by these times.
    if (start.stamped || !rank.stamped) rank.iterations.push_back({start.time, iteration});
  }
  rank.gap = usual_gap(iterations);
  rank.said = iterations.size();
  for (auto& [id, starts] : rank.arrivals) {
    std::stable_sort(starts.begin(), starts.end(),
                     [](const auto& a, const auto& b) { return a.iteration < b.iteration; });
  }
  if (gathered.stamped == 0) rank.resolution = 1;
  for (auto& [key, metric] : rank.metrics) settle(metric);
}

std::vector<RankFacts> GatheredRanks::finish() {
  std::vector<RankFacts> out;
  out.reserve(ranks_.size());
  for (auto& [number, gathered] : ranks_) {
    complete(gathered);
    out.push_back(std::move(gathered.facts));
  }
  ranks_.clear();
  return out;
}

}  // namespace logarithm::aggregator::triage
