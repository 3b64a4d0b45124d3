#include "aggregator/compare/line_finder.h"

#include <algorithm>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMaxText = 300;

bool has_number(const Line& line, const std::string& key) {
  return std::any_of(line.meta.begin(), line.meta.end(), [&](const MetaPair& pair) {
    return pair.key == key && !std::holds_alternative<std::string>(pair.value);
  });
}

}  // namespace

std::string cut_text(std::string text) {
  if (text.size() <= kMaxText) return text;
  std::size_t size = kMaxText;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
  return text;
}

Result<bool> LineFinder::open(BlockingToken& token, JobView& view, std::uint32_t block) {
  if (open_block_ == block) return true;
  const BlockRef& ref = survey_.blocks()[block];
  auto lines = read_lines(token, view, ref);
  if (!lines.ok()) {
    if (!view.note_damage(ref, lines.error())) return lines.error();
    return false;
  }
  lines_ = std::move(lines).value();
  LGR_CHECK(view.derive_iterations(token, *view.join_of(ref), lines_));
  open_block_ = block;
  return true;
}

Result<std::optional<FoundLine>> LineFinder::find(BlockingToken& token, JobView& view,
                                                  std::int32_t rank, std::int64_t place,
                                                  TemplateId group, const std::string& key) {
  const auto blocks = survey_.rank_blocks().find(rank);
  if (blocks == survey_.rank_blocks().end()) return std::optional<FoundLine>();
  for (const RankBlock& candidate : blocks->second) {
    if (place < candidate.places.min || place > candidate.places.max) continue;
    LGR_TRY(bool readable, open(token, view, candidate.block));
    if (!readable) continue;
    const StreamJoin& join = *view.join_of(survey_.blocks()[candidate.block]);
    for (const Line& line : lines_) {
      if (RankSurvey::place_of(line, join) != place || line.has(line_flag::progress)) continue;
      if (rank_of(line, join) != rank) continue;
      const TemplateId of_line = groups_.group_of(line.template_id);
      if (key.empty() ? of_line != group : !has_number(line, key)) continue;
      Row row(line, join);
      FoundLine found;
      found.text = cut_text(std::string(row.text()));
      found.id = join.stream_text + ":" + std::to_string(line.offset);
      found.record = join.stream_text + ":" + std::to_string(line.head);
      found.time = line.time;
      found.iteration = line.iteration;
      found.severity = line.severity;
      found.group = of_line;
      found.marked = !line.events.empty();
      return std::optional<FoundLine>(std::move(found));
    }
  }
  return std::optional<FoundLine>();
}

}  // namespace logarithm::aggregator
