#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {

// One claim, and the lines that show it.
struct Evidence {
  std::string claim;
  std::string klass;  // root, cascade, teardown, advice
  double confidence = 0;
  std::optional<std::int32_t> rank;
  std::vector<LineRef> lines;
  std::string text;  // of the first of these lines
};

struct First {
  std::vector<std::int32_t> ranks;
  std::string host;
  std::optional<std::int64_t> iteration;
  std::optional<UnixNanos> time;
  bool certain = false;  // its time is apart from all others', whatever the clocks' errors
  // Before the next one, and how wrong that may be; absent where nothing is known.
  std::optional<double> margin_ms, error_ms;
};

struct Hardware {
  std::string kind, host, device;
  std::optional<std::int32_t> rank;
  std::optional<std::int64_t> code;  // the Xid
  UnixNanos time = 0;
  LineRef line;
};

struct Verdict {
  std::string verdict = "healthy";  // failed, hung, slow, preempted, healthy
  std::string kind = "healthy";
  std::string phase = "training";  // start, training, checkpoint, end
  std::optional<First> first;
  std::set<std::int32_t> cascade;
  struct Silent {
    std::int32_t rank = 0;
    UnixNanos since = 0;
  };
  std::vector<Silent> silent;
  struct Straggler {
    std::int32_t rank = 0;
    double late_ms = 0;
  };
  std::vector<Straggler> stragglers;
  std::vector<Hardware> hardware;
  struct NotCaptured {
    std::int32_t rank = 0;
    std::string stream, why;
  };
  std::vector<NotCaptured> not_captured;
  std::vector<Evidence> evidence;
  std::string summary;
};

}  // namespace logarithm::aggregator::triage
