#include "aggregator/query/completeness.h"

#include <algorithm>
#include <map>
#include <set>

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMaxReasons = 20;

bool loses_bytes(const Gap& gap) {
  return gap.reason != "nul_hole" && gap.reason != "redacted" && (!gap.to || *gap.to > gap.from);
}

// Bytes of [from, to) that lie in no gap.
std::uint64_t outside_gaps(const std::vector<Gap>& gaps, std::uint64_t from, std::uint64_t to) {
  std::uint64_t missing = 0;
  for (const Gap& gap : gaps) {
    if (from >= to) break;
    const std::uint64_t begin = std::max(gap.from, from);
    if (begin >= to) break;
    missing += begin - from;
    from = std::max(from, gap.to.value_or(to));
  }
  return from < to ? missing + (to - from) : missing;
}

}  // namespace

StreamState state_of(const StreamFacts& facts, const std::optional<StreamProgress>& progress) {
  StreamState out;
  if (!facts.ranges.empty()) {
    out.first = facts.ranges.front().first;
    out.end = facts.ranges.back().end;
  }
  out.has_loss = std::any_of(facts.gaps.begin(), facts.gaps.end(), loses_bytes);
  out.size = out.end;
  if (facts.closed) {
    out.size = facts.closed->size;
  } else if (progress) {
    out.size = std::max(progress->size, out.end);
  }
  if (!facts.ranges.empty()) {
    out.missing_start = outside_gaps(facts.gaps, 0, facts.ranges.front().first);
    out.pending += out.missing_start;
  }
  for (std::size_t i = 1; i < facts.ranges.size(); ++i) {
    out.pending += outside_gaps(facts.gaps, facts.ranges[i - 1].end, facts.ranges[i].first);
  }
  if (out.size > out.end) out.pending += outside_gaps(facts.gaps, out.end, out.size);

  if (!facts.closed && progress && !progress->alive) {
    out.why = "agent " + progress->agent + " not heard from for " +
              std::to_string(progress->silent.count()) + "s";
  } else if (!facts.closed && !progress) {
    const std::string host = facts.versions.empty() ? "" : facts.versions.back().host;
    out.why = "no agent reports on the open streams" + (host.empty() ? "" : " of host " + host);
  } else if (out.missing_start > 0) {
    out.why = "the beginning is not stored";
  } else if (out.pending > 0) {
    out.why = "bytes are still to come";
  }
  out.lagging = !out.why.empty();
  return out;
}

Freshness freshness_of(const std::vector<StreamFacts>& streams, const ProgressLookup& progress) {
  Freshness out;
  out.streams = streams.size();
  for (const StreamFacts& stream : streams) {
    const StreamState state = state_of(stream, progress(stream.id));
    out.pending += state.pending;
    if (!state.lagging) continue;
    ++out.lagging;
    if (out.why.empty()) out.why = state.why;
  }
  return out;
}

Completeness completeness_of(const JobView& view, const ProgressLookup& progress,
                             const std::function<bool(std::size_t)>& wanted) {
  Completeness out;
  std::map<std::string, std::uint64_t> whys;
  std::set<std::string> losses;
  std::uint64_t pending = 0;
  const std::vector<StreamFacts>& streams = view.snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (!wanted(i)) continue;
    ++out.streams;
    const StreamState state = state_of(streams[i], progress(streams[i].id));
    if (state.has_loss) {
      ++out.gaps;
      for (const Gap& gap : streams[i].gaps) {
        if (loses_bytes(gap)) losses.insert(gap.reason);
      }
    }
    if (!state.lagging) continue;
    ++out.lagging;
    ++whys[state.why];
    pending += state.pending;
  }
  for (const auto& [why, count] : whys) {
    if (out.reasons.size() == kMaxReasons) break;
    out.reasons.push_back(why + " (" + std::to_string(count) +
                          (count == 1 ? " stream)" : " streams)"));
  }
  if (pending > 0) out.reasons.push_back(std::to_string(pending) + " bytes pending");
  if (out.gaps > 0) {
    std::string reason =
        std::to_string(out.gaps) + (out.gaps == 1 ? " stream" : " streams") + " with gaps:";
    for (const std::string& loss : losses) reason += " " + loss;
    out.reasons.push_back(std::move(reason));
  }
  if (const JobView::Damage& damage = view.damage(); !damage.blocks.empty()) {
    out.reasons.push_back(std::to_string(damage.lines) + " lines left out: " +
                          std::to_string(damage.blocks.size()) + " stored blocks are damaged");
  }
  out.complete = out.lagging == 0 && out.gaps == 0 && view.damage().blocks.empty();
  return out;
}

}  // namespace logarithm::aggregator
