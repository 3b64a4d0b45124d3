#include "aggregator/tail/decoded_blocks.h"

namespace logarithm::aggregator {
namespace {

bool has(BlockPart held, BlockPart wanted) { return (held | wanted) == held; }

std::size_t memory_of_lines(const std::vector<Line>& lines) {
  std::size_t bytes = 0;
  for (const Line& line : lines) {
    bytes += sizeof(Line) + line.raw.capacity() + line.callsite.capacity() +
             line.meta.capacity() * (sizeof(MetaPair) + 16) +
             line.extents.capacity() * sizeof(Extent);
  }
  return bytes;
}

}  // namespace

Result<std::shared_ptr<DecodedBlock>> DecodedBlocks::get(BlockingToken& token, JobView& view,
                                                         const BlockRef& block, BlockPart parts) {
  const StreamId& stream = view.snapshot().streams()[block.stream].id;
  const Key key(view.key(), stream, block.first, block.end);
  auto at = entries_.find(key);
  if (at != entries_.end() && has(at->second.block->parts, parts)) {
    used_.splice(used_.begin(), used_, at->second.used);
    count(at->second);
    return at->second.block;
  }
  auto decoded = std::make_shared<DecodedBlock>();
  decoded->parts = at == entries_.end() ? parts : parts | at->second.block->parts;
  LGR_TRY(decoded->lines, read_lines(token, view, block, decoded->parts));
  decoded->bytes = memory_of_lines(decoded->lines);
  if (at == entries_.end()) {
    used_.push_front(key);
    at = entries_.emplace(key, Entry()).first;
    at->second.used = used_.begin();
  } else {
    used_.splice(used_.begin(), used_, at->second.used);
  }
  at->second.block = decoded;
  count(at->second);
  evict();
  return decoded;
}

const std::string& DecodedBlocks::text(DecodedBlock& block, std::size_t index,
                                       const StreamJoin& join) {
  if (block.texts.empty()) {
    block.texts.resize(block.lines.size());
    block.bytes += block.lines.size() * sizeof(std::string);
  }
  std::string& text = block.texts[index];
  if (text.empty()) {
    text = encode_(block.lines[index], join);
    block.bytes += text.capacity();
  }
  return text;
}

void DecodedBlocks::count(Entry& entry) {
  bytes_ += entry.block->bytes - entry.counted;
  entry.counted = entry.block->bytes;
}

void DecodedBlocks::evict() {
  while (bytes_ > max_bytes_ && used_.size() > 1) {
    const auto oldest = entries_.find(used_.back());
    bytes_ -= oldest->second.counted;
    entries_.erase(oldest);
    used_.pop_back();
  }
}

}  // namespace logarithm::aggregator
