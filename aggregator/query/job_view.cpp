#include "aggregator/query/job_view.h"

#include <algorithm>
#include <unordered_map>

#include "aggregator/query/attempt_by_time.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kBlocksAtOnce = 4;

}  // namespace

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
  std::optional<std::uint64_t> from;
  UnixNanos latest = INT64_MIN;
  for (const Line& line : lines) {
    if (line.iteration) continue;
    latest = std::max(latest, line.time);
    from = std::min(from.value_or(line.offset), line.offset);
  }
  if (!from || !join.may_derive_iteration()) return {};
  LGR_TRY(const Derivation derivation, derive(token, join, *from, latest));
  for (Line& line : lines) {
    if (line.iteration) continue;
    line.iteration = derivation.at(line.offset, line.time);
    if (line.iteration) line.flags |= line_flag::derived_iteration;
  }
  return {};
}

Result<JobView::Derivation> JobView::derive(BlockingToken& token, const StreamJoin& join,
                                            std::uint64_t from, UnixNanos latest) {
  const std::string axis = iteration_axis(*join.attributes);
  auto known = iterations_.find(axis);
  if (known == iterations_.end()) {
    LGR_TRY(std::vector<IterationStart> starts, snapshot_->iterations(token, axis));
    std::sort(starts.begin(), starts.end());
    known = iterations_.emplace(axis, std::move(starts)).first;
  }
  Derivation out;
  out.starts = &known->second;
  if (!out.starts->empty()) {
    LGR_TRY(out.own, said_behind(token, join, from, latest));
  }
  return out;
}

std::optional<std::int64_t> JobView::Derivation::at(std::uint64_t offset, UnixNanos time) const {
  auto after = std::partition_point(starts->begin(), starts->end(),
                                    [&](const auto& start) { return start.time <= time; });
  for (; after != starts->begin(); --after) {
    const IterationStart& start = *std::prev(after);
    const auto said = own.find(start.iteration);
    const bool behind =
        said != own.end() && said->second.offset > offset && said->second.time <= start.time;
    if (!behind) return start.iteration;
  }
  return std::nullopt;
}

// What the stream itself says of iterations, as far as it may be behind the line at `from`: in the
// blocks from there on, unless they begin later than `latest`.
Result<JobView::OwnSayings> JobView::said_behind(BlockingToken& token, const StreamJoin& join,
                                                 std::uint64_t from, UnixNanos latest) {
  OwnSayings out;
  if (join.facts == nullptr || !join.facts->last_iteration) return out;
  std::size_t later = 0;
  for (std::optional<std::uint64_t> next = from; next;) {
    LGR_TRY(const auto blocks, snapshot_->blocks_from(token, join.stream, *next, kBlocksAtOnce));
    next.reset();
    for (const BlockRef& block : blocks) {
      next = block.end;
      if (block.time_min > latest) {
        if (++later == kBlocksAtOnce) return out;
        continue;
      }
      later = 0;
      LGR_CHECK(take_sayings(token, block, out));
    }
    if (blocks.size() < kBlocksAtOnce) break;
  }
  return out;
}

Status JobView::take_sayings(BlockingToken& token, const BlockRef& block, OwnSayings& out) {
  LGR_TRY(const std::string bytes, snapshot_->block_bytes(token, block));
  const auto reader = BlockReader::open(bytes);
  // What is damaged is left out here, and noted by who shows it.
  if (!reader.ok() || !reader->header().iteration) return {};
  const auto lines = reader->lines(BlockPart::facts, [](TemplateId) { return std::nullopt; });
  if (!lines.ok()) return {};
  for (const Line& line : *lines) {
    if (!line.iteration || line.has(line_flag::derived_iteration)) continue;
    const auto [at, fresh] = out.emplace(*line.iteration, Saying{line.offset, line.time});
    if (!fresh) at->second.time = std::min(at->second.time, line.time);
  }
  return {};
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
  // What a wrapper (CRI, docker, mpirun) says of the line is surer than the name of the file.
  if (line.output != Output::unset) {
    return line.output == Output::out ? "stdout" : "stderr";
  }
  return join.attributes->name;
}

}  // namespace logarithm::aggregator
