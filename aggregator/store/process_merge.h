#pragma once

#include "common/model/process.h"

namespace logarithm::aggregator {

// What is known of one process after another report of it. An exit, once known, is never lost, nor
// is any fact that the newer report merely leaves out; last_seen only grows.
ProcessInfo merge_process(const ProcessInfo& known, ProcessInfo report);

}  // namespace logarithm::aggregator
