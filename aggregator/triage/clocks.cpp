#include "aggregator/triage/clocks.h"

#include <algorithm>
#include <map>
#include <string>

namespace logarithm::aggregator::triage {
namespace {

// Two ranks that print at different places of the code may be one iteration apart: one prints its
// line of k after the barrier while the other begins k + 1.
constexpr std::int64_t kBarriers = 2;
// Iterations that are looked at, the newest: more bound it no better, and clocks drift.
constexpr std::size_t kNewest = 512;
// Before its first reading a clock drifted by one part of these, at most.
constexpr std::int64_t kDriftless = 5000;

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<ClockFact> clock_over(const std::vector<ClockReading>& history, UnixNanos from,
                                    UnixNanos to) {
  if (history.empty()) return std::nullopt;
  // A reading stands until the next.
  auto first =
      std::partition_point(history.begin(), history.end(),
                           [&](const ClockReading& reading) { return reading.at <= from; });
  if (first != history.begin()) --first;
  const std::int64_t before = std::max<std::int64_t>(0, first->at - from);
  std::int64_t lo = INT64_MAX, hi = INT64_MIN;
  for (auto reading = first; reading != history.end(); ++reading) {
    const std::int64_t ahead = -reading->offset;
    lo = std::min(lo, ahead - reading->error);
    hi = std::max(hi, ahead + reading->error);
    if (reading->at > to) break;
  }
  return ClockFact{lo + (hi - lo) / 2, (hi - lo + 1) / 2 + before / kDriftless};
}

std::size_t Clocks::clock_of(const RankFacts& rank) const {
  return of_rank_[static_cast<std::size_t>(&rank - ranks_.data())];
}

Clocks::Clocks(const Facts& facts) : ranks_(facts.ranks) {
  std::map<std::string, std::size_t> hosts;
  for (const RankFacts& rank : facts.ranks) {
    std::size_t number = clocks_.size();
    if (!rank.host.empty()) number = hosts.emplace(rank.host, number).first->second;
    of_rank_.push_back(number);
    if (number == clocks_.size()) clocks_.emplace_back();
    Clock& clock = clocks_[number];
    if (!rank.stamped) clock.stamped = false;
    clock.resolution = std::max(clock.resolution, rank.resolution);
    const auto measured = facts.clocks.find(rank.host);
    if (!rank.host.empty() && measured != facts.clocks.end()) clock.measured = measured->second;
    const std::size_t skip = rank.iterations.size() - std::min(rank.iterations.size(), kNewest);
    for (std::size_t i = skip; i < rank.iterations.size(); ++i) {
      const IterationStart& start = rank.iterations[i];
      clock.times.push_back({start.iteration, start.time, start.time});
    }
  }
  for (Clock& clock : clocks_) {
    std::sort(clock.times.begin(), clock.times.end(),
              [](const Times& a, const Times& b) { return a.iteration < b.iteration; });
    std::vector<Times> merged;
    for (const Times& time : clock.times) {
      if (merged.empty() || merged.back().iteration != time.iteration) {
        merged.push_back(time);
        continue;
      }
      merged.back().first = std::min(merged.back().first, time.first);
      merged.back().last = std::max(merged.back().last, time.last);
    }
    clock.times = std::move(merged);
  }
}

std::optional<Offset> Clocks::compute(const Clock& a, const Clock& b) {
  constexpr std::int64_t kFar = INT64_MAX / 4;
  std::int64_t lo = -kFar, hi = kFar;
  std::vector<std::int64_t> differences;
  if (a.stamped && b.stamped) {
    // For each side, the first time of the other that is sure to come after it.
    const auto after = [](const Clock& clock, std::int64_t iteration) {
      return std::partition_point(clock.times.begin(), clock.times.end(), [&](const Times& time) {
        return time.iteration < iteration + kBarriers;
      });
    };
    for (const Times& time : a.times) {
      const auto later = after(b, time.iteration);
      if (later != b.times.end()) lo = std::max(lo, time.last - later->first - b.resolution);
    }
    for (const Times& time : b.times) {
      const auto later = after(a, time.iteration);
      if (later != a.times.end()) hi = std::min(hi, later->first + a.resolution - time.last);
    }
    auto other = b.times.begin();
    for (const Times& time : a.times) {
      while (other != b.times.end() && other->iteration < time.iteration) ++other;
      if (other == b.times.end()) break;
      if (other->iteration == time.iteration) differences.push_back(time.first - other->first);
    }
  }
  if (a.measured && b.measured) {
    const std::int64_t middle = a.measured->offset - b.measured->offset;
    const std::int64_t error = a.measured->error + b.measured->error;
    lo = std::max(lo, middle - error);
    hi = std::min(hi, middle + error);
    if (differences.empty()) differences.push_back(middle);
  }
  if (lo == -kFar || hi == kFar || lo > hi) return std::nullopt;
  const std::int64_t guess = differences.empty() ? lo + (hi - lo) / 2 : median(differences);
  return Offset{lo, hi, std::clamp(guess, lo, hi)};
}

std::optional<Offset> Clocks::between(const RankFacts& a, const RankFacts& b) const {
  const std::size_t first = clock_of(a), second = clock_of(b);
  if (first == second) return Offset{};
  const auto [known, fresh] = known_.try_emplace(std::uint64_t{first} << 32 | second);
  if (fresh) known->second = compute(clocks_[first], clocks_[second]);
  return known->second;
}

std::optional<Distance> Clocks::distance(const RankFacts& a, const Span& earlier,
                                         const RankFacts& b, const Span& later) const {
  const auto offset = between(b, a);  // of b's clock
  if (!offset) return std::nullopt;
  const std::int64_t middle = (later.lo - earlier.lo) / 2 + (later.hi - earlier.hi) / 2;
  return Distance{later.lo - earlier.hi - offset->hi, later.hi - earlier.lo - offset->lo,
                  middle - offset->estimate};
}

}  // namespace logarithm::aggregator::triage
