#include "aggregator/triage/told_times.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace logarithm::aggregator::triage {
namespace {

const MetaPair* rank_time(const Line& line) {
  const auto found = std::find_if(line.meta.begin(), line.meta.end(),
                                  [](const MetaPair& pair) { return pair.key == kRankTime; });
  return found == line.meta.end() ? nullptr : &*found;
}

}  // namespace

void Teller::add(const StreamId& stream, const Line& line) {
  const MetaPair* time = line.meta.empty() ? nullptr : rank_time(line);
  if (time == nullptr) {
    timer_ = line.template_id;
    return;
  }
  const auto* ms = std::get_if<double>(&time->value);
  std::optional<std::int64_t> rank;
  for (const MetaPair& pair : line.meta) {
    const auto* whole = std::get_if<std::int64_t>(&pair.value);
    if (pair.key == "rank" && whole != nullptr) rank = *whole;
  }
  if (ms == nullptr || !rank || *rank < 0 || *rank > INT32_MAX || !line.iteration) return;
  if (!told_.contains(timer_) && told_.size() >= kTimers) return;
  auto& times = told_[timer_][static_cast<std::int32_t>(*rank)];
  times.push_back({*line.iteration, *ms * 1e6, {stream, line.offset}});
  if (times.size() >= 2 * kTold) {
    times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(kTold));
  }
}

Status Teller::finish(BlockingToken& token, JobView& view, const BlockRef& block, ToldTimes& out) {
  for (auto& [timer, times] : told_) {
    LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, timer));
    out.emplace(text.value_or(""), std::move(times));
  }
  return {};
}

void add_told(ToldTimes& into, const ToldTimes& next) {
  for (const auto& [timer, ranks] : next) {
    for (const auto& [rank, times] : ranks) {
      auto& all = into[timer][rank];
      all.insert(all.end(), times.begin(), times.end());
      if (all.size() < 2 * kTold) continue;
      all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kTold));
    }
  }
}

}  // namespace logarithm::aggregator::triage
