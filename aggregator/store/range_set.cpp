#include "aggregator/store/range_set.h"

#include <algorithm>

namespace logarithm::aggregator {

void add_range(std::vector<Range>& ranges, Range range) {
  if (range.first >= range.end) return;
  auto from = std::lower_bound(ranges.begin(), ranges.end(), range.first,
                               [](const Range& r, std::uint64_t first) { return r.end < first; });
  auto to = from;
  for (; to != ranges.end() && to->first <= range.end; ++to) {
    range.first = std::min(range.first, to->first);
    range.end = std::max(range.end, to->end);
  }
  from = ranges.erase(from, to);
  ranges.insert(from, range);
}

std::optional<Range> range_holding(const std::vector<Range>& ranges, std::uint64_t offset) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), offset,
                             [](std::uint64_t o, const Range& r) { return o < r.end; });
  if (at == ranges.end() || at->first > offset) return std::nullopt;
  return *at;
}

Admission admit(const std::vector<Range>& stored, Range block) {
  Admission result;
  auto at = std::upper_bound(stored.begin(), stored.end(), block.first,
                             [](std::uint64_t offset, const Range& r) { return offset < r.end; });
  if (at == stored.end() || at->first >= block.end) return result;
  result.resume_at = at->end;
  if (at->first <= block.first) {
    result.kind = at->end >= block.end ? Admission::Kind::known : Admission::Kind::overlap;
    return result;
  }
  result.kind = Admission::Kind::cut;
  result.cut_at = at->first;
  return result;
}

}  // namespace logarithm::aggregator
