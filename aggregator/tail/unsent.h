#pragma once

#include <cstdint>
#include <vector>

#include "common/base/types.h"

namespace logarithm::aggregator {

// What of one stream was not sent yet: ascending, disjoint, not empty; the last range has no end
// (kNoEnd). Usually that one is all there is; each further range is a hole that the stream had when
// lines beyond it were sent.
using Unsent = std::vector<Range>;
inline constexpr std::uint64_t kNoEnd = UINT64_MAX;

// Of a stream of which nothing was sent.
Unsent all_unsent();
// Of a stream of which everything stored was sent (or passed over).
Unsent all_but(const std::vector<Range>& stored);

void subtract(Unsent& unsent, Range sent);
// Makes [.., at) and [at, ..) of the range that holds `at`.
void split(Unsent& unsent, std::uint64_t at);
// How many offsets of `stored` are unsent.
std::uint64_t pending(const Unsent& unsent, const std::vector<Range>& stored);

}  // namespace logarithm::aggregator
