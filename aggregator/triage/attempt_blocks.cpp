#include "aggregator/triage/attempt_blocks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {
namespace {

// Streams that state no attempt belong to one while it ran, and so long around it; the kernel
// speaks of a blocked process after two minutes, and of a dead one later, too.
constexpr UnixNanos kAroundIt = 60'000'000'000, kLongAfter = 600'000'000'000;
// Lines of a stream that are looked at one by one, however many streams there are.
constexpr std::uint64_t kFewest = 256;

// The newest of each stream come first; over the limit the oldest are left out.
std::vector<BlockWork> choose_blocks(std::map<std::size_t, std::vector<BlockWork>> of_stream,
                                     const LineLimits& limits) {
  std::uint64_t all = 0, lines = 0;
  for (const auto& [stream, blocks] : of_stream) {
    for (const BlockWork& one : blocks) all += one.block.lines;
  }
  const std::uint64_t quota =
      all <= limits.whole
          ? UINT64_MAX
          : std::max(kFewest, limits.whole / std::max<std::size_t>(1, of_stream.size()));
  std::map<std::size_t, std::uint64_t> looked_at;
  std::vector<BlockWork> out;
  for (bool more = true; more && lines < limits.most;) {
    more = false;
    for (auto& [stream, rest] : of_stream) {
      if (rest.empty()) continue;
      more = true;
      BlockWork work = rest.back();
      rest.pop_back();
      lines += work.block.lines;
      // A block's depth depends on nothing but whether the quota is used up, so that surveys can be
      // used again while the stream grows.
      std::uint64_t& before = looked_at[stream];
      if (before >= quota) {
        work.depth = kMarksOnly;
      } else if (work.block.lines > quota) {
        work.depth = static_cast<Depth>(quota);
      }
      before += work.block.lines;
      out.push_back(std::move(work));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const BlockWork& a, const BlockWork& b) {
    return std::pair(a.block.stream, a.block.first) < std::pair(b.block.stream, b.block.first);
  });
  return out;
}

void add_processes(const JobView& view, std::optional<std::int32_t> attempt, AttemptLife& life) {
  for (const ProcessFacts& process : view.snapshot().processes()) {
    if (process.attempt != attempt) continue;
    life.from = std::min(life.from, process.info.start);
    life.to = std::max(life.to, process.info.exit.value_or(process.info.last_seen));
  }
}

}  // namespace

bool is_kernel(const StreamJoin& join) { return join.attributes->name == "kernel"; }

std::vector<std::int32_t> attempts_of(JobView& view) {
  std::set<std::int32_t> known;
  for (const ProcessFacts& process : view.snapshot().processes()) {
    if (process.attempt) known.insert(*process.attempt);
  }
  const auto& streams = view.snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (const StreamJoin& join : view.joins(i)) {
      if (join.attempt) known.insert(*join.attempt);
    }
  }
  return {known.begin(), known.end()};
}

Result<AttemptBlocks> blocks_of_attempt(BlockingToken& token, JobView& view,
                                        std::optional<std::int32_t> attempt,
                                        const LineLimits& limits) {
  AttemptBlocks out;
  AttemptLife& life = out.life;
  LGR_TRY(std::vector<BlockRef> blocks, view.snapshot().candidates(token, BlockFilter()));
  std::map<std::size_t, std::vector<BlockWork>> of_stream;
  std::vector<BlockWork> shared;
  std::map<std::int32_t, Span> others;
  for (const BlockRef& block : blocks) {
    const StreamJoin* join = view.join_of(block);
    if (join->attempt && join->attempt != attempt) {
      const Span whole{block.time_min, block.time_max};
      const auto [at, fresh] = others.emplace(*join->attempt, whole);
      at->second.lo = std::min(at->second.lo, whole.lo);
      at->second.hi = std::max(at->second.hi, whole.hi);
    }
    if (join->attempt == attempt) {
      of_stream[block.stream].push_back({block, false, false});
      if (is_kernel(*join)) continue;
      life.from = std::min(life.from, block.time_min);
      life.to = std::max(life.to, block.time_max);
    } else if (!join->attempt) {
      shared.push_back({block, false, true});
    }
  }
  add_processes(view, attempt, life);
  life.begin = life.from == INT64_MAX ? INT64_MIN : life.from - kAroundIt;
  life.end = life.to == INT64_MIN ? INT64_MAX : life.to + kLongAfter;
  for (const auto& [other, span] : others) {
    if (other < *attempt)
      life.begin = std::max(life.begin, std::min(life.from, span.hi + kAroundIt));
    if (other > *attempt) life.end = std::min(life.end, span.lo);
  }
  for (BlockWork& one : shared) {
    if (one.block.time_max < life.begin || one.block.time_min > life.end) continue;
    of_stream[one.block.stream].push_back(std::move(one));
  }
  out.work = choose_blocks(std::move(of_stream), limits);
  return out;
}

Result<std::vector<BlockWork>> blocks_of_hosts(BlockingToken& token, JobView& host_view,
                                               const std::set<std::string>& hosts,
                                               const AttemptLife& life) {
  std::vector<BlockWork> out;
  BlockFilter filter;
  filter.start = life.begin;
  filter.end = life.end;
  filter.streams.emplace();
  const auto& streams = host_view.snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (const StreamJoin& join : host_view.joins(i)) {
      if (hosts.contains(join.attributes->host)) filter.streams->insert(i);
    }
  }
  if (filter.streams->empty()) return out;
  LGR_TRY(std::vector<BlockRef> blocks, host_view.snapshot().candidates(token, filter));
  for (const BlockRef& block : blocks) out.push_back({block, true, true});
  return out;
}

}  // namespace logarithm::aggregator::triage
