#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/ingest/clock_history.h"
#include "common/base/clock.h"
#include "common/wire/frame.h"

namespace logarithm::aggregator {

// What is known of one agent since the aggregator started.
struct AgentStatus {
  std::string tenant, agent, host, version;
  bool connected = false;
  UnixNanos last_heartbeat = 0;  // aggregator's clock; 0 before the first
  MonotonicTime heard{};         // of the connection or the last heartbeat; no step moves it
  // Aggregator's clock minus the agent's, plus the network's delay: the least of the last
  // heartbeats, so an upper bound.
  std::int64_t clock_offset = 0;  // nanoseconds
  // As the agent measured it with the answers to its heartbeats: the aggregator's clock minus the
  // agent's, and by how much that may be wrong.
  std::optional<ClockReading> clock;
  std::uint64_t spool_bytes = 0;
  std::vector<wire::StreamLag> streams;
  std::vector<wire::NotCaptured> not_captured;
  std::vector<std::string> rule_problems, config_problems;
};

// The agents and what their heartbeats said, for status and completeness. In memory: an agent
// repeats itself. Thread-safe.
class AgentRegistry {
 public:
  static constexpr std::size_t kMaxAgents = 16384;      // disconnected ones are forgotten first
  static constexpr std::size_t kMaxStreams = 65536;     // per agent; more are counted only
  static constexpr std::size_t kMaxNotCaptured = 4096;  // per agent; more are counted only
  static constexpr std::size_t kMaxRuleProblems = 500;  // per agent; more are counted only

  void connected(const std::string& tenant, const wire::Hello& hello, MonotonicTime heard);
  // It does not come back: an import that is done.
  void forget(const std::string& tenant, const std::string& agent);
  void disconnected(const std::string& tenant, const std::string& agent);
  void heartbeat(const std::string& tenant, const std::string& agent,
                 const wire::Heartbeat& heartbeat, UnixNanos now, MonotonicTime heard);
  // A block of it arrived: it is followed, although no heartbeat has said so yet. How far the agent
  // has read is at least the block's end.
  void stream_arrives(const std::string& tenant, const std::string& agent, const StreamId& stream,
                      const std::string& job, std::uint64_t end);
  void stream_closed(const std::string& tenant, const std::string& agent, const StreamId& stream);

  std::vector<AgentStatus> all() const;
  std::vector<AgentStatus> of_tenant(const std::string& tenant) const;
  // Lag of a job's streams that are read, but not to their end, over all agents.
  std::vector<wire::StreamLag> lagging(const std::string& tenant, const std::string& job) const;
  std::vector<wire::NotCaptured> not_captured(const std::string& tenant,
                                              const std::string& job) const;
  // Readings of clocks that are to be stored, since the last call.
  std::vector<HostClock> take_clocks();
  void give_back_clocks(std::vector<HostClock> readings);
  std::uint64_t connected_count() const;
  std::uint64_t entries_not_kept() const;

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, agent
  struct Agent {
    AgentStatus status;  // without streams
    std::map<StreamId, wire::StreamLag> streams;
    std::vector<std::int64_t> offsets;  // the last ones, as a ring
    std::size_t next_offset = 0;
  };
  AgentStatus status_of(const Agent& agent) const;

  mutable std::mutex mutex_;
  std::map<Key, Agent> agents_;
  ClockHistory clocks_;
  std::uint64_t entries_not_kept_ = 0;
};

}  // namespace logarithm::aggregator
