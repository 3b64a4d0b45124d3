#include <algorithm>
#include <string>
#include <utility>

#include "common/line/stream_parser.h"

namespace logarithm {
namespace {

constexpr std::size_t kMostSpare = 1024, kLargestRaw = 1024, kLargestMeta = 4096;

// Makes it what a new line is; the memory of its texts is kept.
void clear(Line& line) {
  static_assert(sizeof(Line) == 240, "a member was added: clear it too");
  line.offset = line.length = line.head = 0;
  line.raw.clear();
  line.terminator = Terminator::none;
  line.output = Output::unset;
  line.transport = 0;
  line.flags = line.text_begin = line.header_begin = line.body_begin = 0;
  line.time = line.observed = 0;
  line.severity = Severity::unset;
  line.callsite.clear();
  line.template_id = 0;
  line.wrapper_rank.reset();
  line.iteration.reset();
  line.meta.clear();
  line.events.clear();
  line.extents.clear();
}

}  // namespace

Line& ParsedLines::add_line() {
  if (spare_.empty()) return lines.emplace_back();
  Line& line = lines.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  clear(line);
  return line;
}

void ParsedLines::recycle() {
  // Some of those that were not used stay, for a longer feed.
  const std::size_t more = std::min(spare_.size(), 8 + lines.size() / 4);
  for (std::size_t i = 0; i < more; ++i) {
    lines.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  if (lines.size() > kMostSpare) lines.resize(kMostSpare);
  for (Line& line : lines) {
    if (line.raw.capacity() > kLargestRaw) line.raw = std::string();
    if (line.meta.capacity() * sizeof(MetaPair) > kLargestMeta) line.meta = {};
  }
  spare_.swap(lines);
  lines.clear();
  gaps.clear();
  mappings.clear();
}

}  // namespace logarithm
