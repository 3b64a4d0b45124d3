#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aggregator/triage/facts.h"
#include "aggregator/triage/time_unit.h"
#include "common/line/line.h"

namespace logarithm::aggregator::triage {

// What triage keeps of one block's lines of one rank.
struct RankSurvey {
  std::uint64_t lines = 0;              // of the block
  std::uint64_t seen = 0, stamped = 0;  // looked at; those of them that say their own time
  UnixNanos first = 0, last = 0;
  // By how much its stamps are past the moment at which they were read, at most: a host's clock is
  // ahead of a file server's by this, or more.
  std::int64_t ahead = 0;
  UnixNanos resolution = 1'000'000'000;  // the coarsest that fits all stamps
  std::vector<TailLine> tail;            // the newest, ascending by offset
  struct Start {
    UnixNanos time = 0;
    bool stamped = false;
  };
  std::map<std::int64_t, Start> iterations;                    // that its own lines said
  std::map<TemplateId, std::vector<IterationStart>> arrivals;  // of stamped lines
  std::map<std::string, Metric> metrics;
};

inline constexpr std::size_t kTailLines = 16;         // kept of a block and of a stream
inline constexpr std::size_t kSamples = 512;          // kept of a metric
inline constexpr std::size_t kArrivals = 128;         // kept of a template
inline constexpr std::size_t kArrivalTemplates = 32;  // of a block

// Lines come ascending by offset. Up to twice as many of the newest are kept meanwhile, so that
// what is too old goes seldom.
void add_line(const StreamId& stream, const Line& line, TimedKeys& timed, RankSurvey& out);
// Of lines that are looked at for their marks only.
void add_iteration(const Line& line, RankSurvey& out);
void add_tail(const StreamId& stream, const Line& line, RankSurvey& out);
// Leaves the newest that are to be kept.
void trim_tail(std::vector<TailLine>& tail);

// Appends what was kept of the block that follows in the same stream, or of another stream of the
// rank.
void add_metric(Metric& into, const Metric& next);
void add_arrivals(std::vector<IterationStart>& into, const std::vector<IterationStart>& next);

}  // namespace logarithm::aggregator::triage
