#include "agent/uplink/recut.h"

#include <algorithm>
#include <unordered_map>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {
namespace {

// CRC32C of the last bytes before the end of lines[count - 1], where the lines are plain file bytes
// one after another; else 0, which fits nothing.
std::uint32_t tail_crc_after(const std::vector<Line>& lines, std::size_t count) {
  std::string tail;
  std::uint64_t end = lines[count].offset;
  while (count > 0 && tail.size() < kTailBytes) {
    const Line& line = lines[--count];
    std::string bytes = line.raw + std::string(bytes_of(line.terminator));
    if (bytes.size() != line.length || line.end() != end || !line.extents.empty()) return 0;
    end = line.offset;
    tail.insert(0, bytes);
  }
  if (tail.size() < kTailBytes && end != 0) return 0;
  return crc32c(std::string_view(tail).substr(tail.size() - std::min(tail.size(), kTailBytes)));
}

// The lines [0, count) of `lines`, and all up to where the next one begins (or the block ends).
Result<EncodedBlock> encode_first(const BlockHeader& header, const std::vector<Line>& lines,
                                  std::size_t count, const Recut& how) {
  const bool whole = count == lines.size();
  const std::uint64_t end = whole ? header.end : lines[count].offset;
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_plain(how.plain);
  writer.set_first(how.resume_at);
  for (std::size_t i = 0; i < count; ++i) writer.add(lines[i]);
  for (Gap gap : header.gaps) {
    if (gap.to ? *gap.to <= how.resume_at : gap.from < how.resume_at) continue;
    if (gap.from >= end && !whole) continue;
    gap.from = std::max(gap.from, how.resume_at);
    if (gap.to) gap.to = std::min(*gap.to, end);
    writer.add_gap(gap);
  }
  writer.set_end(end);
  return writer.finish(whole ? header.tail_crc : tail_crc_after(lines, count));
}

// A gap in place of the first line, which alone is over the limit.
Result<EncodedBlock> encode_gap(const BlockHeader& header, const std::vector<Line>& lines,
                                const Recut& how) {
  const std::uint64_t end = lines.size() > 1 ? lines[1].offset : header.end;
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_first(how.resume_at);
  writer.add_gap(Gap{how.resume_at, end, "too_large", lines.empty() ? 0 : lines[0].observed});
  writer.set_end(end);
  return writer.finish(lines.size() > 1 ? tail_crc_after(lines, 1) : header.tail_crc);
}

}  // namespace

Result<SpooledBlock> recut(const SpooledBlock& block, const Recut& how) {
  std::unordered_map<TemplateId, std::string_view> texts;
  for (const TemplateDef& def : block.templates) texts[def.id] = def.text;
  const TemplateLookup lookup = [&](TemplateId id) -> std::optional<std::string_view> {
    const auto found = texts.find(id);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  };
  LGR_TRY(const BlockReader reader, BlockReader::open(block.block.bytes));
  const BlockHeader& header = reader.header();
  LGR_TRY(std::vector<Line> lines,
          reader.lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup));
  Recut from = how;
  from.resume_at = std::max(how.resume_at, header.first);
  std::erase_if(lines, [&](const Line& line) { return line.offset < from.resume_at; });
  std::size_t count = lines.size();
  LGR_TRY(EncodedBlock encoded, encode_first(header, lines, count, from));
  while (encoded.bytes.size() > how.max_bytes) {
    if (count <= 1) {
      LGR_TRY(encoded, encode_gap(header, lines, from));
      break;
    }
    count /= 2;
    LGR_TRY(encoded, encode_first(header, lines, count, from));
  }
  if (encoded.bytes.size() > how.max_bytes) {
    return Error(ErrorCode::too_large, "block: no line fits the limit");
  }
  SpooledBlock out;
  out.number = block.number;
  out.block.stream = block.block.stream;
  out.block.job = block.block.job;
  out.block.first = from.resume_at;
  out.block.end = encoded.header.end;
  out.block.bytes = std::move(encoded.bytes);
  out.templates = std::move(encoded.templates);
  return out;
}

}  // namespace logarithm::agent
