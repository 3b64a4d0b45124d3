#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "aggregator/triage/block_survey.h"
#include "common/line/line.h"

namespace logarithm::aggregator::triage {

inline constexpr std::size_t kBlockEvents = 1024;

// Marks of a line; over the limit they are counted only.
void add_events(const StreamId& stream, const Line& line, BlockSurvey& out);

// Notes the records that Python printed and passed over.
void note_ignored(const std::vector<Line>& lines, BlockSurvey& out);

// Says between which stamps of its own rank an event without one lies. Ranks that share a file may
// have clocks of their own, and then the line before it says nothing. The survey must outlive it.
class EventDates {
 public:
  explicit EventDates(BlockSurvey& survey) : survey_(survey) {}

  // After the events of `line` were added. Lines come ascending by offset.
  void add(const Line& line);

 private:
  BlockSurvey& survey_;
  std::size_t seen_ = 0;                 // events of stamped lines among them
  std::optional<std::int32_t> speaker_;  // of the last stamp
  std::map<std::int32_t, UnixNanos> last_;
  std::vector<std::size_t> waiting_;
};

// How many lines of a writer's routine come behind each event: lines that it said before it as
// well, outside of any report. Where nothing says iterations, this shows that it went on.
// `lines`: all that were looked at, ascending by offset.
void count_routine(const std::vector<Line>& lines, BlockSurvey& out);

}  // namespace logarithm::aggregator::triage
