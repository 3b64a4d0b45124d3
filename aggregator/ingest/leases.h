#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace logarithm::aggregator {

// Who may send a file of a network file system, which several agents see: the first that asks, as
// long as it is heard of. In memory: after a restart the first that asks again. One thread.
class LeaseTable {
 public:
  LeaseTable(const Clock& clock, std::chrono::seconds lifetime)
      : clock_(clock), lifetime_(lifetime) {}

  // True when `agent` has the lease now (renewed, new, or taken over from one not heard of).
  bool acquire(const std::string& tenant, const StreamBase& base, const std::string& agent);
  // False when another agent holds a lease of `base`.
  bool may_send(const std::string& tenant, const StreamBase& base, const std::string& agent) const;
  // A heartbeat of `agent` renews all it holds.
  void heard_of(const std::string& tenant, const std::string& agent);
  // Drops the expired ones.
  void sweep();

 private:
  struct Lease {
    std::string agent;
  };
  using AgentKey = std::pair<std::string, std::string>;
  bool alive(const std::string& tenant, const std::string& agent) const;

  const Clock& clock_;
  const std::chrono::seconds lifetime_;
  std::map<std::pair<std::string, StreamBase>, Lease> leases_;
  std::map<AgentKey, MonotonicTime> heard_;
};

}  // namespace logarithm::aggregator
