#include "common/model/ranges.h"

#include <algorithm>
#include <utility>

namespace logarithm {

std::vector<Range> merged(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& range) { return range.first >= range.end; });
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (!out.empty() && range.first <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<Range> without(std::vector<Range> from, std::vector<Range> what) {
  what = merged(std::move(what));
  std::vector<Range> out;
  for (Range rest : merged(std::move(from))) {
    auto cut = std::partition_point(what.begin(), what.end(),
                                    [&](const Range& one) { return one.end <= rest.first; });
    for (; cut != what.end() && cut->first < rest.end; ++cut) {
      if (cut->first > rest.first) out.push_back({rest.first, cut->first});
      rest.first = std::min(cut->end, rest.end);
    }
    if (rest.first < rest.end) out.push_back(rest);
  }
  return out;
}

}  // namespace logarithm
