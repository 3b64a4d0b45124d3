#include "aggregator/ingest/leases.h"

namespace logarithm::aggregator {

bool LeaseTable::alive(const std::string& tenant, const std::string& agent) const {
  const auto at = heard_.find(AgentKey(tenant, agent));
  return at != heard_.end() && clock_.now() - at->second < lifetime_;
}

bool LeaseTable::acquire(const std::string& tenant, const StreamBase& base,
                         const std::string& agent) {
  heard_of(tenant, agent);
  Lease& lease = leases_[std::pair(tenant, base)];
  if (lease.agent.empty() || !alive(tenant, lease.agent)) lease.agent = agent;
  return lease.agent == agent;
}

bool LeaseTable::may_send(const std::string& tenant, const StreamBase& base,
                          const std::string& agent) const {
  const auto lease = leases_.find(std::pair(tenant, base));
  return lease == leases_.end() || lease->second.agent == agent ||
         !alive(tenant, lease->second.agent);
}

void LeaseTable::heard_of(const std::string& tenant, const std::string& agent) {
  heard_[AgentKey(tenant, agent)] = clock_.now();
}

void LeaseTable::sweep() {
  std::erase_if(leases_,
                [&](const auto& entry) { return !alive(entry.first.first, entry.second.agent); });
  std::erase_if(heard_,
                [&](const auto& entry) { return clock_.now() - entry.second >= lifetime_; });
}

}  // namespace logarithm::aggregator
