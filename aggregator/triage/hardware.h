#pragma once

#include <optional>
#include <vector>

#include "aggregator/triage/analysis.h"

namespace logarithm::aggregator::triage {

// What a kernel said of the same time on the same host, when it explains the failure `seen` better.
std::optional<Candidate> hardware_behind(const Analysis& analysis, const Candidate& seen);

// Hardware broke, the job said no further iteration, and it did not end in order: whatever its
// ranks say. `hung`: its processes live and stand still; else nothing is said of a job that lives.
// Without ranks where nothing ties the event to one.
std::optional<Candidate> find_broken_hardware(const Analysis& analysis, bool hung);

// Kernel events of the ranks' hosts, with the rank that each hit where that is known.
std::vector<Hardware> hardware_of(const Analysis& analysis);

}  // namespace logarithm::aggregator::triage
