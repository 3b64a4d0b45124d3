#include <algorithm>
#include <string>
#include <utility>

#include "common/line/stream_parser.h"

namespace logarithm {
namespace {

constexpr std::size_t kMostSpare = 1024, kLargestSpare = 1024;

}  // namespace

Line& ParsedLines::add_line() {
  Line& line = lines.emplace_back();
  if (spare_.empty()) return line;
  Line& old = spare_.back();
  old.raw.clear();
  line.raw = std::move(old.raw);
  old.callsite.clear();
  line.callsite = std::move(old.callsite);
  old.meta.clear();
  line.meta.swap(old.meta);
  old.events.clear();
  line.events.swap(old.events);
  spare_.pop_back();
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
    if (line.raw.capacity() > kLargestSpare) std::string().swap(line.raw);
    if (line.meta.size() * sizeof(MetaPair) > kLargestSpare)
      std::vector<MetaPair>().swap(line.meta);
  }
  spare_.swap(lines);
  lines.clear();
  gaps.clear();
  mappings.clear();
}

}  // namespace logarithm
