#include "common/line/event_marks.h"

#include <algorithm>

namespace logarithm {

void add_event(std::vector<EventMark>& events, const EventMark& mark) {
  const bool known = std::any_of(events.begin(), events.end(), [&](const EventMark& e) {
    return e.kind == mark.kind && e.klass == mark.klass;
  });
  if (!known) events.push_back(mark);
}

void settle_events(std::vector<EventMark>& events) {
  if (events.size() < 2) return;
  const bool follows = std::any_of(events.begin(), events.end(), [](const EventMark& e) {
    return e.klass == "cascade" || e.klass == "teardown";
  });
  if (follows) std::erase_if(events, [](const EventMark& e) { return e.klass == "root"; });
}

}  // namespace logarithm
