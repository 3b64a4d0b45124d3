#pragma once

#include <optional>
#include <set>
#include <vector>

#include "aggregator/triage/facts.h"

namespace logarithm::aggregator::triage {

// What a launcher or scheduler says of ranks that ended: torchrun's table, srun, mpirun.
struct Report {
  std::set<std::int32_t> ranks;
  std::optional<std::int64_t> status;  // the exit code; -9 for a signal
  const EventFact* event = nullptr;
};
// Only those that name ranks of the attempt; ascending by time.
std::vector<Report> reports_of(const Facts& facts);

// The rank that `event` speaks of, by pid, GPU or local rank on its host; empty when unknown. Ranks
// whose host is unknown match any host.
std::set<std::int32_t> ranks_meant(const Facts& facts, const EventFact& event);

// "8-11,13" -> numbers; at most 64Ki of them.
std::set<std::int32_t> parse_ranks(const std::string& text);
// "0000:3b:00.0", "3b:00" or NCCL's "3b000" as "domain:bus:device"; empty when it is none.
std::string normal_pci(const std::string& text);

}  // namespace logarithm::aggregator::triage
