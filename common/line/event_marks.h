#pragma once

#include <vector>

#include "common/line/line.h"

namespace logarithm {

// Adds a mark, unless one of its kind and class is there: two rules that say the same of a line
// (one general, one special) mark it once.
void add_event(std::vector<EventMark>& events, const EventMark& mark);

// A line that says a peer went away is not a cause, even where it also names an exception: where a
// `cascade` or `teardown` mark is, `root` marks go.
void settle_events(std::vector<EventMark>& events);

}  // namespace logarithm
