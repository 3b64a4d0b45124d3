#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/compare/rank_survey.h"
#include "aggregator/groups/template_groups.h"

namespace logarithm::aggregator {

// A line that stands for a departure.
struct FoundLine {
  std::string text;    // as people see it, cut
  std::string id;      // "<stream>:<offset>"
  std::string record;  // the id of its record's head
  UnixNanos time = 0;
  std::optional<std::int64_t> iteration;
  Severity severity = Severity::unset;
  TemplateId group = 0;
  bool marked = false;  // a rule marked it as an event
};

// Text of at most 300 bytes, cut at a character.
std::string cut_text(std::string text);

// Finds lines again of which a survey kept the places only. Reads whole blocks, and remembers the
// last one.
class LineFinder {
 public:
  LineFinder(const RankSurvey& survey, const TemplateGroups& groups)
      : survey_(survey), groups_(groups) {}

  // The first line of a rank at a place that is of `group`, or with a `key` that has a number under
  // it. nullopt when there is none.
  Result<std::optional<FoundLine>> find(BlockingToken& token, JobView& view, std::int32_t rank,
                                        std::int64_t place, TemplateId group,
                                        const std::string& key);

 private:
  Result<bool> open(BlockingToken& token, JobView& view, std::uint32_t block);

  const RankSurvey& survey_;
  const TemplateGroups& groups_;
  std::optional<std::uint32_t> open_block_;
  std::vector<Line> lines_;
};

}  // namespace logarithm::aggregator
