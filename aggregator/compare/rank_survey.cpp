#include "aggregator/compare/rank_survey.h"

#include <algorithm>

#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

const TemplateId kBlank = fingerprint("");

}  // namespace

RankSurvey::RankSurvey(const JobView& view, std::optional<std::int32_t> attempt)
    : view_(view), attempt_(attempt) {
  for (const ProcessFacts& process : view.snapshot().processes()) {
    if (process.info.rank && process.info.local_rank == 0) {
      first_of_host_.insert(*process.info.rank);
    }
  }
}

std::int64_t RankSurvey::place_of(const Line& line, const StreamJoin& join) {
  return join.facts->last_iteration && line.iteration ? *line.iteration : kOutside;
}

std::uint32_t RankSurvey::template_of(const Line& line) {
  const auto [at, fresh] =
      template_index_.try_emplace(line.template_id, static_cast<std::uint32_t>(templates_.size()));
  if (fresh) {
    TemplateSeen seen;
    seen.id = line.template_id;
    seen.block = static_cast<std::uint32_t>(blocks_.size() - 1);
    seen.offset = line.offset;
    templates_.push_back(seen);
  }
  GroupFacts& facts = templates_[at->second].facts;
  facts.severity = std::max(facts.severity, line.severity);
  facts.marked = facts.marked || !line.events.empty();
  for (const EventMark& mark : line.events) facts.follows |= mark.klass != "root";
  if (line.iteration && !line.has(line_flag::derived_iteration)) facts.says_iteration = true;
  ++facts.lines;
  return at->second;
}

void RankSurvey::close_run(OfRank& rank) {
  if (rank.open.empty()) return;
  for (std::size_t i = 0; i < rank.open.size(); ++i) {
    templates_[rank.open[i]].facts.place_sum += i;
  }
  std::sort(rank.open.begin(), rank.open.end());
  Bag bag;
  for (const std::uint32_t index : rank.open) {
    if (bag.empty() || bag.back().first != index) bag.emplace_back(index, 0);
    ++bag.back().second;
  }
  rank.open.clear();
  rank.cells.push_back({rank.place, bags_.intern(std::move(bag))});
  ++cells_;
}

void RankSurvey::take_values(OfRank& rank, const Line& line, std::int64_t place) {
  for (const MetaPair& pair : line.meta) {
    double value = 0;
    if (const auto* real = std::get_if<double>(&pair.value)) {
      value = *real;
    } else if (const auto* integer = std::get_if<std::int64_t>(&pair.value)) {
      value = static_cast<double>(*integer);
    } else {
      continue;
    }
    const auto [key, fresh] =
        key_index_.try_emplace(pair.key, static_cast<std::uint32_t>(keys_.size()));
    if (fresh) {
      keys_.push_back(pair.key);
      read_from_.emplace_back();
    }
    ReadFrom& from = read_from_[key->second];
    if (from.last != rank.open.back()) from.templates.insert(from.last = rank.open.back());
    if (rank.values.size() <= key->second) rank.values.resize(key->second + 1);
    std::vector<Value>& values = rank.values[key->second];
    if (!values.empty() && values.back().iteration == place) continue;
    if (values_ >= kMaxValues) {
      ++values_left_out_;
      continue;
    }
    ++values_;
    values.push_back({place, value});
  }
}

void RankSurvey::note_block(std::vector<RankBlock>& where, std::int64_t place) const {
  const auto block = static_cast<std::uint32_t>(blocks_.size() - 1);
  if (where.empty() || where.back().block != block) where.push_back({block, {place, place}});
  MinMax<std::int64_t>& places = where.back().places;
  places.min = std::min(places.min, place);
  places.max = std::max(places.max, place);
}

// Looked up anew only when the stream or the rank changes: lines come stream by stream.
void RankSurvey::turn_to(std::int32_t rank, const StreamJoin& join) {
  if (join.stream != now_.stream) {
    for (auto& [number, of_rank] : ranks_) close_run(of_rank);
  }
  if (!join.facts->closed) open_ranks_.insert(rank);
  if (join.attributes->local_rank == 0) first_of_host_.insert(rank);
  now_ = {join.stream, &join, rank, &ranks_[rank], &where_[rank]};
}

Status RankSurvey::take(const Line& line, const StreamJoin& join, const BlockRef& block) {
  if (attempt_ && join.attempt != attempt_) return {};
  // Redraws of a bar come at the terminal's pace, not the training's; blank lines say nothing.
  if (line.has(line_flag::progress) || line.template_id == kBlank) return {};
  const auto rank = rank_of(line, join);
  if (!rank) {
    ++without_rank_;
    return {};
  }
  ++lines_;
  if (blocks_.empty() || blocks_.back().shard != block.shard || blocks_.back().id != block.id) {
    blocks_.push_back(block);
  }
  if (&join != now_.join || *rank != now_.rank || now_.of_rank == nullptr) turn_to(*rank, join);
  OfRank& of_rank = *now_.of_rank;
  const std::int64_t place = place_of(line, join);
  if (!of_rank.open.empty() && of_rank.place != place) close_run(of_rank);
  of_rank.place = place;
  of_rank.open.push_back(template_of(line));
  note_block(*now_.where, place);
  if (is_iteration(place) && !line.meta.empty()) take_values(of_rank, line, place);
  if (cells_ > kMaxCells) {
    return Error(ErrorCode::invalid,
                 "more than " + std::to_string(kMaxCells) +
                     " iterations of ranks; narrow the query (iteration, rank)");
  }
  return {};
}

History RankSurvey::finish() {
  History out;
  const std::int32_t last_rank = ranks_.empty() ? 0 : ranks_.rbegin()->first;
  for (auto& [number, of_rank] : ranks_) {
    close_run(of_rank);
    RankHistory rank;
    rank.rank = number;
    rank.ended = !open_ranks_.contains(number);
    rank.special = number == 0 || number == last_rank || first_of_host_.contains(number);
    std::stable_sort(of_rank.cells.begin(), of_rank.cells.end(),
                     [](const Cell& a, const Cell& b) { return a.place < b.place; });
    for (const Cell& cell : of_rank.cells) {
      if (!rank.cells.empty() && rank.cells.back().place == cell.place) {
        Cell& same = rank.cells.back();
        same.bag = bags_.intern(sum_of(bags_[same.bag], bags_[cell.bag]));
      } else {
        rank.cells.push_back(cell);
      }
    }
    for (const Cell& cell : rank.cells) {
      if (!is_iteration(cell.place)) continue;
      rank.first = std::min(rank.first, cell.place);
      rank.last = std::max(rank.last, cell.place);
    }
    for (std::vector<Value>& values : of_rank.values) {
      const auto earlier = [](const Value& a, const Value& b) { return a.iteration < b.iteration; };
      if (!std::is_sorted(values.begin(), values.end(), earlier)) {
        std::stable_sort(values.begin(), values.end(), earlier);
      }
      const auto same = [](const Value& a, const Value& b) { return a.iteration == b.iteration; };
      values.erase(std::unique(values.begin(), values.end(), same), values.end());
    }
    of_rank.values.resize(keys_.size());
    rank.values = std::move(of_rank.values);
    of_rank = OfRank();
    out.ranks.push_back(std::move(rank));
  }
  for (const TemplateSeen& seen : templates_) out.groups.push_back(seen.facts);
  out.bags = std::move(bags_);
  out.keys = keys_;
  return out;
}

}  // namespace logarithm::aggregator
