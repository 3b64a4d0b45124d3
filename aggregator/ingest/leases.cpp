#include "aggregator/ingest/leases.h"

namespace logarithm::aggregator {

bool LeaseTable::alive(const std::string& tenant, const std::string& agent) const {
  const auto at = heard_.find(AgentKey(tenant, agent));
  return at != heard_.end() && clock_.now() - at->second < lifetime_;
}

bool LeaseTable::acquire(const std::string& tenant, const StreamBase& base,
                         const std::string& agent, bool writer) {
  heard_of(tenant, agent);
  const MonotonicTime now = clock_.now();
  if (now - swept_ >= std::chrono::minutes(1)) {
    swept_ = now;
    sweep(now);
  }
  Lease& lease = leases_[std::pair(tenant, base)];
  const bool vacant = !alive(tenant, lease.agent) || (writer && !lease.writer);
  if (lease.agent != agent && !vacant) return false;
  lease = {agent, writer, now};
  return true;
}

void LeaseTable::heard_of(const std::string& tenant, const std::string& agent) {
  heard_[AgentKey(tenant, agent)] = clock_.now();
}

void LeaseTable::release_all(const std::string& tenant, const std::string& agent) {
  heard_.erase(AgentKey(tenant, agent));
}

void LeaseTable::sweep(MonotonicTime now) {
  std::erase_if(leases_, [&](const auto& entry) {
    const auto& [key, lease] = entry;
    return now - lease.asked >= kForgotten || !alive(key.first, lease.agent);
  });
  std::erase_if(heard_, [&](const auto& entry) { return now - entry.second >= lifetime_; });
}

}  // namespace logarithm::aggregator
