#include "aggregator/tail/unsent.h"

#include <algorithm>

namespace logarithm::aggregator {

Unsent all_unsent() { return Unsent{Range{0, kNoEnd}}; }

Unsent all_but(const std::vector<Range>& stored) {
  Unsent out = all_unsent();
  for (const Range& range : stored) subtract(out, range);
  return out;
}

void subtract(Unsent& unsent, Range sent) {
  // The end of everything stays open: a stream may always go on.
  sent.end = std::min(sent.end, kNoEnd - 1);
  if (sent.first >= sent.end) return;
  Unsent out;
  out.reserve(unsent.size() + 1);
  for (const Range& range : unsent) {
    if (range.end <= sent.first || range.first >= sent.end) {
      out.push_back(range);
      continue;
    }
    if (range.first < sent.first) out.push_back(Range{range.first, sent.first});
    if (range.end > sent.end) out.push_back(Range{sent.end, range.end});
  }
  unsent = std::move(out);
}

void split(Unsent& unsent, std::uint64_t at) {
  for (std::size_t i = 0; i < unsent.size(); ++i) {
    if (unsent[i].first >= at || unsent[i].end <= at) continue;
    const Range rest{at, unsent[i].end};
    unsent[i].end = at;
    unsent.insert(unsent.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
    return;
  }
}

std::uint64_t pending(const Unsent& unsent, const std::vector<Range>& stored) {
  std::uint64_t out = 0;
  auto at = stored.begin();
  for (const Range& range : unsent) {
    while (at != stored.end() && at->end <= range.first) ++at;
    for (auto held = at; held != stored.end() && held->first < range.end; ++held) {
      out += std::min(held->end, range.end) - std::max(held->first, range.first);
    }
  }
  return out;
}

}  // namespace logarithm::aggregator
