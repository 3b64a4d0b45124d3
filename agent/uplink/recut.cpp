#include "agent/uplink/recut.h"

#include <algorithm>
#include <unordered_map>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {
namespace {

// CRC32C of the last bytes before the end of lines[count - 1] (lines of earlier pieces may be in
// front), where the lines are plain file bytes
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

// The lines [first, last) of a block, and all up to where the next one begins (or the block ends).
Result<EncodedBlock> encode_lines(const BlockHeader& header, const std::vector<Line>& lines,
                                  std::size_t first, std::size_t last, const Recut& how) {
  const bool whole = last == lines.size();
  const std::uint64_t end = whole ? header.end : lines[last].offset;
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_plain(how.plain);
  writer.set_first(how.resume_at);
  for (std::size_t i = first; i < last; ++i) writer.add(lines[i]);
  for (Gap gap : header.gaps) {
    if (gap.to ? *gap.to <= how.resume_at : gap.from < how.resume_at) continue;
    if (gap.from >= end && !whole) continue;
    gap.from = std::max(gap.from, how.resume_at);
    if (gap.to) gap.to = std::min(*gap.to, end);
    writer.add_gap(gap);
  }
  writer.set_end(end);
  return writer.finish(whole ? header.tail_crc : tail_crc_after(lines, last));
}

// A gap in place of the line `first`, which alone is over the limit.
Result<EncodedBlock> encode_gap(const BlockHeader& header, const std::vector<Line>& lines,
                                std::size_t first, const Recut& how) {
  const bool more = first + 1 < lines.size();
  const std::uint64_t end = more ? lines[first + 1].offset : header.end;
  const UnixNanos at = first < lines.size() ? lines[first].observed : 0;
  BlockWriter writer(header.stream, header.attributes_version);
  writer.set_first(how.resume_at);
  writer.add_gap(Gap{how.resume_at, end, "too_large", at});
  writer.set_end(end);
  return writer.finish(more ? tail_crc_after(lines, first + 1) : header.tail_crc);
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
  LGR_TRY(const std::vector<Line> lines,
          reader.lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup));
  Recut from = how;
  from.resume_at = std::max(how.resume_at, header.first);
  const auto begin = std::partition_point(
      lines.begin(), lines.end(), [&](const Line& line) { return line.offset < from.resume_at; });
  const auto first = static_cast<std::size_t>(begin - lines.begin());
  std::size_t last = lines.size();
  LGR_TRY(EncodedBlock encoded, encode_lines(header, lines, first, last, from));
  while (encoded.bytes.size() > how.max_bytes) {
    if (last - first <= 1) {
      LGR_TRY(encoded, encode_gap(header, lines, first, from));
      break;
    }
    last = first + (last - first) / 2;
    LGR_TRY(encoded, encode_lines(header, lines, first, last, from));
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
