#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/store/storage.h"
#include "common/model/process.h"
#include "common/model/stream.h"

namespace logarithm::aggregator {

struct JobFacts;
struct PartFacts;

// What is remembered of a stream whose shards retention has unlinked: enough to answer stream-open,
// so that a replay brings nothing back, and to say in answers that something is missing.
struct RetainedStream {
  StreamId id;
  std::string head;
  std::optional<std::uint32_t> predecessor;
  std::uint64_t tail_end = 0;
  std::uint32_t tail_crc = 0;
  std::optional<wire::Closed> closed;
  std::vector<StreamAttributes> versions;  // ascending
  std::vector<Range> ranges;               // stored once, or told as a gap; merged
  UnixNanos at = 0;                        // of the newest unlinking
};

// Of one job. Processes stay, because attempts follow from all of them.
struct Retained {
  std::map<StreamId, RetainedStream> streams;
  std::map<std::string, ProcessInfo> processes;  // by key
  UnixNanos at = 0;                              // when the part was unlinked
  bool empty() const { return streams.empty() && processes.empty(); }
};

// As an answer to stream-open.
StoredGeneration as_generation(const RetainedStream& stream);

// Adds what a later unlinking says of the same stream.
void merge_retained(RetainedStream& into, const RetainedStream& more);

// Puts what is remembered beside what is stored: a gap `retention` over ranges that are in no part.
void add_retained(JobFacts& job, const Retained& retained);

}  // namespace logarithm::aggregator
