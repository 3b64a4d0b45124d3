#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/model/stream.h"

namespace logarithm::aggregator {

// Who reads a file of a network file system, which several agents see: an agent on the host of its
// writer, else the first that asked, as long as it is heard of and asks again. It spares the others
// the work and keeps one set of attributes; what makes lines be there once is the store, so blocks
// of an agent without a lease are welcome too. In memory: after a restart the first that asks
// again. One thread.
class LeaseTable {
 public:
  // `lifetime`: how long an agent keeps its leases after it was last heard of.
  LeaseTable(const Clock& clock, std::chrono::seconds lifetime)
      : clock_(clock), lifetime_(lifetime) {}

  // True when `agent` has the lease now (renewed, new, or taken over from one not heard of, or from
  // one that has not the `writer` on its host).
  bool acquire(const std::string& tenant, const StreamBase& base, const std::string& agent,
               bool writer);
  // A heartbeat of `agent` keeps all it holds.
  void heard_of(const std::string& tenant, const std::string& agent);
  // It does not come back.
  void release_all(const std::string& tenant, const std::string& agent);
  std::size_t size() const { return leases_.size(); }

  // A lease that nobody renewed for so long is of a file that ended: agents renew theirs at least
  // every ten minutes (agent/follow).
  static constexpr std::chrono::minutes kForgotten{30};

 private:
  struct Lease {
    std::string agent;
    bool writer = false;
    MonotonicTime asked{};
  };
  using AgentKey = std::pair<std::string, std::string>;  // tenant, agent
  bool alive(const std::string& tenant, const std::string& agent) const;
  void sweep(MonotonicTime now);

  const Clock& clock_;
  const std::chrono::seconds lifetime_;
  std::map<std::pair<std::string, StreamBase>, Lease> leases_;
  std::map<AgentKey, MonotonicTime> heard_;
  MonotonicTime swept_{};
};

}  // namespace logarithm::aggregator
