#include "aggregator/triage/survey_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace logarithm::aggregator::triage {
namespace {

// About what a survey takes in memory, bytes.
std::size_t memory_of(const BlockSurvey& survey) {
  constexpr std::size_t kNode = 48;  // of a map, beside what it holds
  std::size_t bytes = sizeof(BlockSurvey) + 256;
  for (const auto& [number, rank] : survey.ranks) {
    bytes += sizeof(RankSurvey) + kNode + rank.tail.capacity() * sizeof(TailLine);
    bytes += rank.iterations.size() * (kNode + sizeof(RankSurvey::Start));
    for (const auto& [id, starts] : rank.arrivals) {
      bytes += kNode + sizeof starts + starts.capacity() * sizeof(IterationStart);
    }
    for (const auto& [key, metric] : rank.metrics) {
      bytes += kNode + sizeof metric + metric.samples.capacity() * sizeof(Sample);
    }
  }
  for (const BlockSurvey::Event& event : survey.events) {
    bytes += sizeof event + event.fact.numbers.size() * (2 * kNode);
    for (const auto& [key, word] : event.fact.words) bytes += 3 * kNode + word.capacity();
  }
  bytes += survey.ignored.size() * kNode;
  for (const auto& [id, text] : survey.texts) bytes += 2 * kNode + text.capacity();
  for (const auto& [timer, ranks] : survey.told) {
    for (const auto& [rank, times] : ranks) bytes += kNode + times.capacity() * sizeof(ToldTime);
  }
  return bytes + survey.mentions.capacity() * sizeof(BlockSurvey::Mention);
}

}  // namespace

Result<std::shared_ptr<const BlockSurvey>> SurveyCache::get(BlockingToken& token, JobView& view,
                                                            const BlockRef& block, Depth depth) {
  const Key key{view.key(), view.snapshot().streams()[block.stream].id, block.first, block.end,
                depth};
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      found->second.used = ++clock_;
      return found->second.survey;
    }
  }
  LGR_TRY(auto survey, survey_block(token, view, block, depth));
  const std::size_t bytes = memory_of(*survey);
  std::lock_guard lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(key, Entry{survey, bytes, 0});
  entry->second.used = ++clock_;
  if (fresh) bytes_ += bytes;
  if (bytes_ > most_) make_room();
  return survey;
}

// A quarter goes at once, so that this is rare.
void SurveyCache::make_room() {
  std::vector<std::pair<std::uint64_t, std::size_t>> by_age;
  by_age.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) by_age.emplace_back(entry.used, entry.bytes);
  std::sort(by_age.begin(), by_age.end());
  std::size_t left = bytes_;
  std::uint64_t newest_to_go = 0;
  for (const auto& [used, bytes] : by_age) {
    if (left <= most_ / 4 * 3) break;
    left -= bytes;
    newest_to_go = used;
  }
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.used <= newest_to_go; });
  bytes_ = left;
}

}  // namespace logarithm::aggregator::triage
