#include "agent/uplink/recut.h"

#include <unordered_map>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"

namespace logarithm::agent {

Result<SpooledBlock> recut(const SpooledBlock& block, std::uint64_t resume_at) {
  std::unordered_map<TemplateId, std::string_view> texts;
  for (const TemplateDef& def : block.templates) texts[def.id] = def.text;
  const TemplateLookup lookup = [&](TemplateId id) -> std::optional<std::string_view> {
    const auto found = texts.find(id);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  };
  LGR_TRY(const BlockReader reader, BlockReader::open(block.block.bytes));
  const BlockHeader& header = reader.header();
  LGR_TRY(const std::vector<Line> lines,
          reader.lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup));
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_first(resume_at);
  for (const Line& line : lines) {
    if (line.offset >= resume_at) writer.add(line);
  }
  for (Gap gap : header.gaps) {
    if (gap.to && *gap.to <= resume_at) continue;
    if (!gap.to && gap.from < resume_at) continue;
    gap.from = std::max(gap.from, resume_at);
    writer.add_gap(gap);
  }
  writer.set_end(header.end);
  LGR_TRY(EncodedBlock encoded, writer.finish(header.tail_crc));
  SpooledBlock out;
  out.number = block.number;
  out.block.stream = block.block.stream;
  out.block.job = block.block.job;
  out.block.first = resume_at;
  out.block.end = header.end;
  out.block.bytes = std::move(encoded.bytes);
  out.templates = std::move(encoded.templates);
  return out;
}

}  // namespace logarithm::agent
