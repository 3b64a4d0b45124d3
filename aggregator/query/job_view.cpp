#include "aggregator/query/job_view.h"

#include <algorithm>
#include <unordered_map>

#include "aggregator/query/attempt_by_time.h"

namespace logarithm::aggregator {

JobView::JobView(JobKey key, std::shared_ptr<JobSnapshot> snapshot)
    : key_(std::move(key)), snapshot_(std::move(snapshot)) {
  std::unordered_map<std::string, const ProcessFacts*> processes;
  for (const ProcessFacts& process : snapshot_->processes()) {
    processes.emplace(process.info.key(), &process);
  }
  const std::vector<AttemptLife> lives = attempt_lives(snapshot_->processes());
  const std::vector<StreamFacts>& streams = snapshot_->streams();
  joins_.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    StreamJoin join;
    join.job = &key_.job;
    join.stream = i;
    join.facts = &streams[i];
    join.stream_text = to_text(streams[i].id);
    join.attributes = &no_attributes_;
    if (streams[i].versions.empty()) joins_[i].push_back(join);
    for (const StreamAttributes& attributes : streams[i].versions) {
      join.attributes = &attributes;
      join.attempt = attributes.attempt;
      join.rank = attributes.rank;
      join.rank_is_fixed = false;
      const auto process = processes.find(attributes.process);
      if (process != processes.end() && !attributes.process.empty()) {
        const ProcessFacts& facts = *process->second;
        if (facts.attempt) join.attempt = facts.attempt;
        if (!join.rank) join.rank = facts.info.rank;
        join.rank_is_fixed = join.rank.has_value() && attributes.rank_source != "path" &&
                             attributes.rank_source != "wrapper";
      }
      if (const auto one = processes.find(attributes.run_of); one != processes.end()) {
        if (one->second->attempt) join.attempt = one->second->attempt;
      }
      if (!join.attempt && attributes.process.empty()) {
        join.attempt = attempt_by_time(streams[i], lives);
      }
      joins_[i].push_back(join);
    }
  }
}

Status JobView::derive_iterations(BlockingToken& token, const StreamJoin& join,
                                  std::vector<Line>& lines) {
  const auto lacks = [](const Line& line) { return !line.iteration.has_value(); };
  if (!join.may_derive_iteration() || std::none_of(lines.begin(), lines.end(), lacks)) return {};
  LGR_TRY(const std::vector<IterationStart>* starts, iteration_starts(token, join));
  for (Line& line : lines) {
    if (!lacks(line)) continue;
    line.iteration = iteration_at(*starts, line.time);
    if (line.iteration) line.flags |= line_flag::derived_iteration;
  }
  return {};
}

Result<const std::vector<IterationStart>*> JobView::iteration_starts(BlockingToken& token,
                                                                     const StreamJoin& join) {
  const std::string axis = iteration_axis(*join.attributes);
  auto known = iterations_.find(axis);
  if (known == iterations_.end()) {
    LGR_TRY(std::vector<IterationStart> starts, snapshot_->iterations(token, axis));
    std::sort(starts.begin(), starts.end());
    known = iterations_.emplace(axis, std::move(starts)).first;
  }
  return &known->second;
}

std::optional<std::int64_t> iteration_at(const std::vector<IterationStart>& starts,
                                         UnixNanos time) {
  const auto after = std::partition_point(starts.begin(), starts.end(),
                                          [&](const auto& start) { return start.time <= time; });
  if (after == starts.begin()) return std::nullopt;
  return std::prev(after)->iteration;
}

bool JobView::note_damage(const BlockRef& block, const Error& error) {
  if (error.code() != ErrorCode::corrupt) return false;
  const StreamId& stream = snapshot_->streams()[block.stream].id;
  if (damage_.blocks.emplace(stream, block.first).second) damage_.lines += block.lines;
  return true;
}

const StreamJoin* JobView::join_of(const BlockRef& block) const {
  const std::vector<StreamJoin>& joins = joins_[block.stream];
  for (const StreamJoin& join : joins) {
    if (join.attributes->version == block.attributes_version) return &join;
  }
  return join_at(block.stream, block.first);
}

const StreamJoin* JobView::join_at(std::size_t stream, std::uint64_t offset) const {
  const std::vector<StreamJoin>& joins = joins_[stream];
  const StreamJoin* out = &joins.front();
  for (const StreamJoin& join : joins) {
    if (join.attributes->from <= offset) out = &join;
  }
  return out;
}

std::optional<std::size_t> JobView::find_stream(const StreamId& id) const {
  const std::vector<StreamFacts>& streams = snapshot_->streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].id == id) return i;
  }
  return std::nullopt;
}

OrderKey key_of(const QueryLine& line) {
  return {line.line.time, line.join->facts->id, line.line.offset};
}

std::optional<std::int32_t> rank_of(const Line& line, const StreamJoin& join) {
  if (!join.rank_is_fixed && line.wrapper_rank) return line.wrapper_rank;
  return join.rank;
}

std::string_view stream_name(const Line& line, const StreamJoin& join) {
  if (line.output != Output::unset && join.outputs_may_differ()) {
    return line.output == Output::out ? "stdout" : "stderr";
  }
  return join.attributes->name;
}

}  // namespace logarithm::aggregator
