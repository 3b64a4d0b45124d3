#include "aggregator/triage/kinds.h"

#include <map>
#include <set>

namespace logarithm::aggregator::triage {

int weight_of(const std::string& kind) {
  static const std::map<std::string, int> kWeights = {
      {"xid", 9},          {"nvlink", 9},
      {"node_failure", 9}, {"memory", 8},
      {"host_oom", 8},     {"gpu_oom", 7},
      {"storage", 7},      {"corruption", 6},
      {"nan", 6},          {"collective_mismatch", 6},
      {"network", 5},      {"gpu_error", 5},
      {"start", 4},        {"killed", 4},
      {"exception", 3}};
  const auto found = kWeights.find(kind);
  return found == kWeights.end() ? 2 : found->second;
}

bool is_symptom(const EventFact& event) { return event.rule == "rendezvous-timeout"; }

bool is_hard(const EventFact& event) {
  static const std::set<std::string> kHard = {"xid",      "nvlink",       "memory", "gpu_error",
                                              "host_oom", "node_failure", "pcie",   "network"};
  return event.klass == "root" && kHard.contains(event.kind);
}

bool is_fatal(const EventFact& event) {
  // Of NVIDIA's Xid catalogue: the GPU is lost or must be reset.
  static const std::set<std::int64_t> kXids = {46,  48,  54,  61,  62,  64,  74,
                                               79,  95,  109, 110, 119, 120, 136,
                                               140, 142, 143, 151, 155, 156, 158};
  if (!is_hard(event)) return false;
  if (event.kind == "node_failure") return true;
  if (event.word("fatality") == "Fatal") return true;
  return event.kind == "xid" && kXids.contains(event.number("xid").value_or(0));
}

}  // namespace logarithm::aggregator::triage
