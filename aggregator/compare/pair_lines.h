#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/compare/job_groups.h"
#include "aggregator/compare/line_values.h"
#include "aggregator/compare/rank_survey.h"

namespace logarithm::aggregator {

// A line of one of two ranks that are laid side by side.
struct PairLine {
  std::int64_t place = 0;  // see history.h
  std::optional<std::int64_t> iteration;
  std::uint32_t channel = 0;  // 0 stdout, 1 stderr, 2 other files
  TemplateId template_id = 0;
  std::uint64_t group = 0;
  std::string line_id, body, text;
  std::string key;  // of the stream: orders the files of one channel
  std::uint64_t offset = 0;
  UnixNanos time = 0;
  Severity severity = Severity::unset;
  BlockRef block;
};

// Keeps the lines of two ranks, texts and all.
class PairLines final : public LineSink {
 public:
  static constexpr std::size_t kMaxLines = 200'000;  // of both; more are an Error
  PairLines(const JobView& view, std::array<std::int32_t, 2> ranks,
            std::optional<std::int32_t> attempt);

  BlockPart parts() const override { return BlockPart::facts | BlockPart::text; }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;
  std::vector<PairLine>& side(std::size_t side) { return sides_[side]; }
  const OwnFacts& own(std::size_t side) const { return own_[side]; }

 private:
  std::array<std::int32_t, 2> ranks_;
  std::optional<std::int32_t> attempt_;
  std::array<std::vector<PairLine>, 2> sides_;
  std::array<OwnFacts, 2> own_;
};

enum class RowKind : std::uint8_t {
  same,
  value,  // aligned, with other values
  left,   // on the first rank only
  right,  // on the second rank only
};
std::string_view to_string(RowKind kind);

struct PairRow {
  RowKind kind = RowKind::same;
  std::optional<std::size_t> left, right;  // indices into the sides
  std::vector<ValueDifference> differences;
};

// Lays the sides beside each other: by iteration, then by channel, then by group. Sorts the sides.
std::vector<PairRow> lay_side_by_side(PairLines& lines, const TemplateGroups& groups);

}  // namespace logarithm::aggregator
