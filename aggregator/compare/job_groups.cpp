#include "aggregator/compare/job_groups.h"

#include <algorithm>
#include <tuple>

#include "aggregator/query/block_rows.h"
#include "common/line/template.h"

namespace logarithm::aggregator {

Status JobGroups::open(BlockingToken& token, JobView& view) {
  LGR_TRY(auto stored, view.snapshot().body_templates(token));
  for (TemplateText& text : stored) groups_.add(text.id, std::move(text.text));
  return {};
}

Result<bool> JobGroups::add_lines(BlockingToken& token, JobView& view,
                                  std::vector<TemplateSample>& samples,
                                  const std::function<bool()>& time_is_up) {
  const auto key = [](const TemplateSample& s) {
    return std::tuple(s.block.shard, s.block.id, s.offset);
  };
  std::sort(samples.begin(), samples.end(),
            [&](const auto& a, const auto& b) { return key(b) < key(a); });
  while (!samples.empty() && blocks_read_ < kMaxBlocks) {
    if (time_is_up()) return false;
    const BlockRef block = samples.back().block;
    ++blocks_read_;
    auto lines = read_lines(token, view, block);
    if (!lines.ok() && !view.note_damage(block, lines.error())) return lines.error();
    while (!samples.empty() && samples.back().block.shard == block.shard &&
           samples.back().block.id == block.id) {
      const TemplateSample sample = samples.back();
      samples.pop_back();
      if (!lines.ok()) continue;
      const auto at = std::partition_point(lines->begin(), lines->end(), [&](const Line& line) {
        return line.offset < sample.offset;
      });
      if (at == lines->end() || at->offset != sample.offset) continue;
      MaskedBody masked;
      mask_body(body_of(*at), masked);
      // Another mask version made the id: its text is not ours to guess.
      if (fingerprint(masked.text) == sample.id) groups_.add(sample.id, std::move(masked.text));
    }
  }
  return true;
}

}  // namespace logarithm::aggregator
