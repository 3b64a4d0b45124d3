#include "aggregator/triage/survey_depth.h"

#include <algorithm>
#include <string>

#include "common/block/block_reader.h"

namespace logarithm::aggregator::triage {
namespace {

// Lines before and behind a mark: its record, its rank's stamps around it, and what its rank said
// before that it may say again.
constexpr std::uint32_t kAround = 128;

bool has_field(const BlockHeader& header, std::string_view key) {
  return std::any_of(header.fields.begin(), header.fields.end(),
                     [&](const FieldStats& field) { return field.key == key; });
}

bool needs_all(const BlockHeader& header) {
  const bool table =
      has_field(header, "pid") && has_field(header, "rank") && has_field(header, "local_rank");
  const bool nan = std::any_of(header.fields.begin(), header.fields.end(),
                               [](const FieldStats& field) { return field.has_nan; });
  return header.wrapper_rank || table || nan;
}

RowSet rows_of(const BlockHeader& header, const std::vector<std::uint32_t>& marked, Depth depth) {
  const std::uint32_t recent = header.lines - depth;
  RowSet rows;
  for (const std::uint32_t row : marked) {
    if (row >= recent + kAround) break;
    rows.add(row - std::min(row, kAround), std::min(row + kAround, header.lines));
  }
  rows.add(recent, header.lines);
  return rows;
}

constexpr BlockPart kParts = BlockPart::facts | BlockPart::fields;

}  // namespace

Result<LookedAt> look_at(BlockingToken& token, JobView& view, const BlockRef& block, Depth depth) {
  LookedAt out;
  if (depth == kMarksOnly) {
    LGR_TRY(const std::string head, view.snapshot().block_header(token, block));
    LGR_TRY(out.header, parse_block_header(head));
    if (out.header.events.empty() && !needs_all(out.header)) return out;
  }
  LGR_TRY(const std::string bytes, view.snapshot().block_bytes(token, block));
  LGR_TRY(const BlockReader reader, BlockReader::open(bytes));
  const BlockHeader& header = reader.header();
  if (header.lines <= depth || needs_all(header)) {
    out.whole = true;
    LGR_TRY(out.lines, reader.lines(kParts, RowSet::all(header.lines)));
    return out;
  }
  out.header = header;
  LGR_TRY(const std::vector<std::uint32_t> marked, reader.event_rows());
  LGR_TRY(out.lines, reader.lines(kParts, rows_of(header, marked, depth)));
  out.recent = out.lines.size() - depth;
  return out;
}

}  // namespace logarithm::aggregator::triage
