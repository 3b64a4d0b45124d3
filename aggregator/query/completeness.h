#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"

namespace logarithm::aggregator {

// What an agent last said of an open stream.
struct StreamProgress {
  std::uint64_t size = 0;  // of the file
  std::string agent;       // its host
  bool alive = false;      // connected and heard from lately
  std::chrono::seconds silent{0};
};
using ProgressLookup = std::function<std::optional<StreamProgress>(const StreamId&)>;

// How far a stream's stored lines go towards what exists.
struct StreamState {
  std::uint64_t first = 0, end = 0;  // stored: first and last offset
  std::uint64_t size = 0;            // of the file, as far as anybody said
  std::uint64_t pending = 0;         // bytes that exist and are neither stored nor lost
  std::uint64_t missing_start = 0;   // of these, before the first stored one
  bool lagging = false;              // pending bytes, or nobody can say that there are none
  bool has_loss = false;             // a gap that left bytes of the job out
  std::string why;                   // of lagging; empty otherwise
};
StreamState state_of(const StreamFacts& facts, const std::optional<StreamProgress>& progress);

// How far a whole job's stored lines go, in short: for lists of jobs.
struct Freshness {
  std::uint64_t streams = 0, lagging = 0;  // numbers of streams
  std::uint64_t pending = 0;               // bytes of all streams that are neither stored nor lost
  std::string why;                         // of the first lagging stream; empty when there is none
};
Freshness freshness_of(const std::vector<StreamFacts>& streams, const ProgressLookup& progress);

struct Completeness {
  bool complete = true;
  std::vector<std::string> reasons;
  std::uint64_t streams = 0, lagging = 0, gaps = 0;  // numbers of streams
};

// Over the streams of `view` for which `wanted` holds. A gap counts when bytes were lost: holes of
// NULs and redacted spans are known and lose no line.
Completeness completeness_of(const JobView& view, const ProgressLookup& progress,
                             const std::function<bool(std::size_t)>& wanted);

}  // namespace logarithm::aggregator
