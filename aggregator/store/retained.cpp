#include "aggregator/store/retained.h"

#include <algorithm>

#include "aggregator/store/job_facts.h"
#include "aggregator/store/range_set.h"
#include "common/model/ranges.h"

namespace logarithm::aggregator {
namespace {

void add_versions(std::vector<StreamAttributes>& into, const std::vector<StreamAttributes>& more) {
  for (const StreamAttributes& version : more) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const StreamAttributes& known) {
      return known.version == version.version;
    });
    if (same == into.end()) into.push_back(version);
  }
  std::sort(into.begin(), into.end(),
            [](const auto& a, const auto& b) { return a.version < b.version; });
}

}  // namespace

StoredGeneration as_generation(const RetainedStream& stream) {
  StoredGeneration out;
  out.generation = stream.id.generation;
  out.head = stream.head;
  out.ranges = stream.ranges;
  out.tail_crc = stream.tail_crc;
  out.closed = stream.closed.has_value();
  if (!stream.versions.empty()) out.last_version = stream.versions.back().version;
  return out;
}

void merge_retained(RetainedStream& into, const RetainedStream& more) {
  if (more.head.size() > into.head.size()) into.head = more.head;
  if (!into.predecessor) into.predecessor = more.predecessor;
  if (more.tail_end >= into.tail_end) {
    into.tail_end = more.tail_end;
    into.tail_crc = more.tail_crc;
  }
  if (more.closed) into.closed = more.closed;
  // The newer part has the newer correction.
  std::vector<StreamAttributes> versions = more.versions;
  add_versions(versions, into.versions);
  into.versions = std::move(versions);
  for (const Range& range : more.ranges) add_range(into.ranges, range);
  into.at = std::max(into.at, more.at);
}

void add_retained(JobFacts& job, const Retained& retained) {
  if (retained.streams.empty()) return;
  std::map<StreamId, std::size_t> known;
  for (std::size_t i = 0; i < job.streams.size(); ++i) known[job.streams[i].id] = i;
  for (const auto& [id, kept] : retained.streams) {
    const auto [at, fresh] = known.try_emplace(id, job.streams.size());
    if (fresh) job.streams.emplace_back().id = id;
    StreamFacts& stream = job.streams[at->second];
    add_versions(stream.versions, kept.versions);
    if (!stream.closed) stream.closed = kept.closed;
    for (const Range& range : without(kept.ranges, stream.ranges)) {
      Gap gap;
      gap.from = range.first;
      gap.to = range.end;
      gap.reason = "retention";
      gap.at = kept.at;
      stream.gaps.push_back(std::move(gap));
    }
    std::sort(stream.gaps.begin(), stream.gaps.end(), [](const Gap& a, const Gap& b) {
      return a.from != b.from ? a.from < b.from : a.reason < b.reason;
    });
  }
}

}  // namespace logarithm::aggregator
